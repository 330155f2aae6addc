/** The ways an export writes rows to a table. */
export const write_modes = ['append', 'merge', 'replace'] as const;

/** Most rows that a run copies to replace a table. */
export const replaced_records_max = 20_000_000;
/** Most bytes that a run copies to replace a table. */
export const replaced_bytes_max = 20_000_000_000;

export type WriteMode = (typeof write_modes)[number];

/**
 * An export's write mode. With `merge`, both lists have columns. Otherwise they are null. Only
 * `replace` uses `allow_empty`: without it, a run without rows fails and the table stays.
 */
export type WriteRule = {
  mode: WriteMode;
  primary_key: string[] | null;
  version_key: string[] | null;
  allow_empty?: boolean;
};

/**
 * The columns by which rows are merged. For each key, the table keeps the row with the greatest
 * version ever delivered. Versions are compared in list order.
 */
export type MergeKeys = { key: readonly string[]; versions: readonly string[] };

/** The parts of a delivery that decide how its rows are written to a table. */
export type Written = {
  /** The columns by which rows are merged. Null: rows are appended. Absent: the model decides. */
  merge?: MergeKeys | null;
  /**
   * ISO 8601, UTC. The rows are the whole table as of this instant and replace all rows of earlier
   * generations. Absent: the rows are added to the others.
   */
  generation?: string;
};

/** Returns how a rule writes a delivery; without a rule, the model decides. */
export function writtenBy(
  rule: WriteRule | null | undefined,
  { data_interval_end }: { data_interval_end?: string } = {},
): Written {
  if (rule === null || rule === undefined) return {};
  if (rule.mode === 'append') return { merge: null };
  if (rule.mode === 'merge')
    return { merge: { key: rule.primary_key ?? [], versions: rule.version_key ?? [] } };
  return data_interval_end === undefined
    ? { merge: null }
    : { merge: null, generation: new Date(data_interval_end).toISOString() };
}

/** Returns true if each run of an export with this rule writes the whole table. */
export function isReplacing(rule: WriteRule | null | undefined): boolean {
  return rule?.mode === 'replace';
}
