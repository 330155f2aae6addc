/** The ways in which the rows of an export go into a table. */
export const write_modes = ['append', 'merge', 'replace'] as const;

/** Most rows that a run copies to replace a table. */
export const replaced_records_max = 20_000_000;
/** Most bytes of them. */
export const replaced_bytes_max = 20_000_000_000;

/** One of them. */
export type WriteMode = (typeof write_modes)[number];

/**
 * An export's own choice. With `merge` both lists have columns, otherwise they are null. Only
 * `replace` has `allow_empty`: without it a run that has no rows fails, and the table stays.
 */
export type WriteRule = {
  mode: WriteMode;
  primary_key: string[] | null;
  version_key: string[] | null;
  allow_empty?: boolean;
};

/**
 * The columns by which rows are merged. For each value of the key the table keeps the row of the
 * greatest version that was ever delivered. Versions are compared one after the other.
 */
export type MergeKeys = { key: readonly string[]; versions: readonly string[] };

/** The parts of a delivery that decide how its rows go into a table. */
export type Written = {
  /** The columns by which rows are merged; null: they are appended; left out: the model decides. */
  merge?: MergeKeys | null;
  /**
   * ISO 8601, UTC: the rows are the whole table as of this instant, and take the place of all rows
   * that are there, unless those are of a later generation. Left out: they come beside the others.
   */
  generation?: string;
};

/** Returns what a rule decides about a delivery; without a rule the model does. */
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

/** Does each run of an export with this rule write the whole table? */
export function isReplacing(rule: WriteRule | null | undefined): boolean {
  return rule?.mode === 'replace';
}
