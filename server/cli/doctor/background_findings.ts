import { listBackgroundMigrations } from '../../platform/background_migrations/standing.ts';
import type { BackgroundStanding } from '../../platform/background_migrations/standing.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { ok, warning } from './finding.ts';
import type { Finding } from './finding.ts';
import { aboutText, analyticsSeconds, bytesText } from './migration_costs.ts';

/**
 * Reports the progress of background migrations: one finding for each unfinished one, and one for
 * all finished ones.
 */
export async function lookAtBackground(db: Database): Promise<Finding[]> {
  const all = await listBackgroundMigrations(db);
  const open = all.filter(({ finished_at }) => finished_at === null);
  if (open.length === 0)
    return all.length === 0 ? [] : [ok('in the background', `${all.length} migrations, all done`)];
  return open.map((one) =>
    (one.is_failing ? warning : ok)('in the background', `${one.name}: ${standingText(one)}.`),
  );
}

/** Says the progress of one in words. */
function standingText(one: BackgroundStanding): string {
  const { purpose, detail, started_at, partitions, partitions_done, bytes, bytes_done } = one;
  if (started_at === null) return `${purpose}; waits for its turn`;
  const share = bytes === 0 ? 100 : Math.floor((bytes_done / bytes) * 100);
  const done =
    `${purpose}; ${share} % done, ${partitions_done} of ${partitions} partitions, ` +
    `${bytesText(bytes_done)} of ${bytesText(bytes)}`;
  if (detail !== null) return `${done}. ${detail.replace(/\.$/, '')}`;
  const left = bytes - bytes_done;
  // The rate is known as soon as some work is done.
  const seconds = bytes_done > 0 ? (one.seconds / bytes_done) * left : analyticsSeconds(left);
  return `${done}, ${aboutText(seconds)} left`;
}
