import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';

/** What is wrong with an export now. */
export type Trouble = {
  cause: string;
  /** True if Sluice tries again by itself. */
  is_waiting: boolean;
  /** Start of the earliest interval that is not delivered; undefined if it is not known. */
  from: string | undefined;
};

/** Reads from the overview what is wrong with an export; undefined if nothing is. */
export function troubleOf({
  health,
  retrying,
  failed_interval,
}: Pick<ExportOverview, 'health' | 'retrying' | 'failed_interval'>): Trouble | undefined {
  if (retrying === null && failed_interval === null && health.code !== 'failing') return undefined;
  const starts = [retrying, failed_interval].flatMap((of) =>
    of === null ? [] : [of.data_interval_start],
  );
  return {
    cause:
      retrying?.latest_error ??
      failed_interval?.latest_error ??
      health.detail.replace(/^Failing: /, ''),
    is_waiting: retrying !== null,
    from: starts.toSorted()[0],
  };
}
