import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';

type Told = Pick<ExportOverview, 'retrying' | 'failed_interval'> & {
  health: Pick<ExportOverview['health'], 'code'>;
};

/** Returns true if rows of the export are missing because attempts failed. */
export function isInTrouble({ health, retrying, failed_interval }: Told): boolean {
  return retrying !== null || failed_interval !== null || health.code === 'failing';
}
