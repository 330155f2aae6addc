/** The most comparable runs for a run, and the fewest. */
export const compared_runs_max = 30;
const compared_runs_min = 8;

/** Number of spreads from the median from which a count is unusual. */
const far_spreads = 5;
/** Scales the median absolute deviation to the standard deviation of a normal distribution. */
const deviation_scale = 1.4826;
/** Runs that always had at least this many rows do not drop to none by chance. */
const always_rows_min = 10;

/**
 * The expected rows of a run: the median of `runs` comparable ones, and the inclusive bounds of the
 * usual range.
 */
export type UsualVolume = { median: number; low: number; high: number; runs: number };

/** The rows of a run compared with similar runs. */
export type VolumeJudgement = { is_unusual: boolean; usual: UsualVolume };

/**
 * Judges the rows of a completed run by comparable runs; undefined with fewer than 8 of them. Only
 * the first 30 count. Unusual is more than 5 spreads from the median. The spread is the largest of
 * 1.4826 median absolute deviations, a tenth of the median, its square root, and 1. No rows are
 * also unusual if each of the others had 10 or more.
 */
export function judgeVolume(
  rows: number,
  comparable: readonly number[],
): VolumeJudgement | undefined {
  const others = comparable.slice(0, compared_runs_max);
  if (others.length < compared_runs_min) return undefined;
  const middle = median(others);
  const deviation = median(others.map((other) => Math.abs(other - middle)));
  const spread = Math.max(deviation_scale * deviation, middle / 10, Math.sqrt(middle), 1);
  const usual = {
    median: middle,
    low: Math.max(0, Math.ceil(middle - far_spreads * spread)),
    high: Math.floor(middle + far_spreads * spread),
    runs: others.length,
  };
  const isGone = rows === 0 && others.every((other) => other >= always_rows_min);
  return { is_unusual: rows < usual.low || rows > usual.high || isGone, usual };
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
