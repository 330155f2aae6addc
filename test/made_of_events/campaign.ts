import pg from 'pg';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { openRandom } from '../chaos/random.ts';
import type { Random } from '../chaos/random.ts';
import { openTestStores } from '../harness_stores.ts';
import type { Place } from './deliveries.ts';

/** The size of a campaign, and the receiver of its messages. */
export type Campaign = {
  rows: number;
  /** The number of rows that share a project and its batches. */
  rows_per_project: number;
  seed: number;
  first_project?: number;
  say: (line: string) => void;
};

/** Plays the history of a project and returns its counts. Throws with the differences. */
type CheckProject<Checked> = (
  place: Place,
  team_id: number,
  random: Random,
  rows: number,
) => Promise<Checked>;

/**
 * Plays random histories, project by project, into a separate analytics store and PostgreSQL, and
 * adds up the counts. Throws with the differences, after printing the project and its seed.
 */
export async function runProjects<Checked extends Record<string, number>>(
  { rows, rows_per_project, seed, first_project = 0, say }: Campaign,
  checkProject: CheckProject<Checked>,
): Promise<Checked> {
  const stores = await openTestStores({ clickhouse: true });
  const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'test' });
  const postgres = new pg.Client(stores.database_url);
  await postgres.connect();
  const all: Record<string, number> = {};
  let project = first_project;
  try {
    for (let left = rows; left > 0; left -= rows_per_project, project += 1) {
      const random = openRandom(seed, project);
      const size = Math.min(left, rows_per_project);
      const checked = await checkProject({ clickhouse, postgres }, project + 1, random, size).catch(
        (error: unknown) => {
          say(`seed ${seed}, project ${project} of ${rows_per_project} rows differs`);
          throw error;
        },
      );
      for (const [key, value] of Object.entries(checked)) all[key] = (all[key] ?? 0) + value;
      say(`project ${project}: ${JSON.stringify(checked)}`);
    }
  } finally {
    await Promise.all([postgres.end(), clickhouse.close()]);
    await stores.close();
  }
  return all as Checked;
}
