import pg from 'pg';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { openRandom } from '../chaos/random.ts';
import { openTestStores } from '../harness_stores.ts';
import { checkProject } from './check.ts';
import type { Checked } from './check.ts';

/** The size of a campaign, and the receiver of its messages. */
export type Campaign = {
  sessions: number;
  /** The number of sessions that share a project and its batches. */
  sessions_per_project: number;
  seed: number;
  first_project?: number;
  say: (line: string) => void;
};

/**
 * Plays random histories of sessions, project by project, into an analytics store and a PostgreSQL
 * of its own (`checkProject`). Throws with what differs, after having said which project of which
 * seed it was.
 */
export async function runSessions(campaign: Campaign): Promise<Checked> {
  const { sessions, sessions_per_project, seed, say } = campaign;
  const stores = await openTestStores({ clickhouse: true });
  const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'test' });
  const postgres = new pg.Client(stores.database_url);
  await postgres.connect();
  const all: Checked = {
    sessions: 0,
    events: 0,
    deliveries: 0,
    versions: 0,
    erased: 0,
    wrong_by_end: 0,
  };
  let project = campaign.first_project ?? 0;
  try {
    for (let left = sessions; left > 0; left -= sessions_per_project, project += 1) {
      const random = openRandom(seed, project);
      const size = Math.min(left, sessions_per_project);
      const checked = await checkProject({ clickhouse, postgres }, project + 1, random, size).catch(
        (error: unknown) => {
          say(`seed ${seed}, project ${project} of ${sessions_per_project} sessions differs`);
          throw error;
        },
      );
      for (const key of Object.keys(all) as (keyof Checked)[]) all[key] += checked[key];
      say(`project ${project}: ${JSON.stringify(checked)}`);
    }
  } finally {
    await Promise.all([postgres.end(), clickhouse.close()]);
    await stores.close();
  }
  return all;
}
