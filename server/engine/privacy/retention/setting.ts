/** Retention settings of a project: keep everything, or remove rows by their age. */
export const retentions = ['forever', 'days', 'until_delivered'] as const;

/** Time for which a project keeps its rows: at least `retention_days`, or for ever. */
export type RetentionSetting = {
  retention: (typeof retentions)[number];
  retention_days: number;
};

const day_ms = 24 * 3_600_000;

/**
 * Returns the start of the day (UTC) before which rows may go at `now`. Whole days, so that the
 * store rewrites the parts at most once a day.
 */
export function cutoffOf({ retention_days }: RetentionSetting, now: number): number {
  return Math.floor((now - retention_days * day_ms) / day_ms) * day_ms;
}
