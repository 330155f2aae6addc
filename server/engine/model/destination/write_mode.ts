/** The ways in which the rows of an export go into a table. */
export const write_modes = ['append', 'merge'] as const;

/** One of them. */
export type WriteMode = (typeof write_modes)[number];

/** An export's own choice. With `merge` both lists have columns, otherwise they are null. */
export type WriteRule = {
  mode: WriteMode;
  primary_key: string[] | null;
  version_key: string[] | null;
};

/**
 * The columns by which rows are merged. For each value of the key the table keeps the row of the
 * greatest version that was ever delivered. Versions are compared one after the other.
 */
export type MergeKeys = { key: readonly string[]; versions: readonly string[] };

/** The part of a delivery that a rule decides; without a rule the model does. */
export function mergeIn(rule: WriteRule | null | undefined): { merge?: MergeKeys | null } {
  if (rule === null || rule === undefined) return {};
  if (rule.mode === 'append') return { merge: null };
  return { merge: { key: rule.primary_key ?? [], versions: rule.version_key ?? [] } };
}
