import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import { openTestStores } from '../harness_stores.ts';
import { checkProject } from './check.ts';
import type { Checked } from './check.ts';

/** The size of a campaign, and the receiver of its messages. */
export type Campaign = {
  sequences: number;
  /** The number of sequences that share a project and its batches. */
  sequences_per_project: number;
  kills_per_project: number;
  seed: number;
  first_project?: number;
  say: (line: string) => void;
};

/**
 * Plays random sequences of events into separate stores, project by project, with kills, and
 * compares each one with the model (`checkProject`). Throws the differences, after printing the
 * project and its seed.
 */
export async function runIdentities(campaign: Campaign): Promise<Checked> {
  const { sequences, sequences_per_project, seed, say } = campaign;
  const stores = await openTestStores({ clickhouse: true });
  const db = openDatabase(stores.database_url, { connections_max: 2, application_name: 'test' });
  const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'test' });
  const all: Checked = { events: 0, batches: 0, kills: 0, watermarks: 0 };
  let project = campaign.first_project ?? 0;
  try {
    for (let left = sequences; left > 0; left -= sequences_per_project, project += 1) {
      const wanted = { seed, project, sequences: Math.min(left, sequences_per_project) };
      const given = { ...wanted, team_id: await newProject(db) };
      const checked = await checkProject(
        { ...stores, clickhouse },
        given,
        campaign.kills_per_project,
      ).catch((error: unknown) => {
        say(`seed ${seed}, project ${project} of ${sequences_per_project} sequences differs`);
        throw error;
      });
      for (const key of Object.keys(all) as (keyof Checked)[]) all[key] += checked[key];
      say(`project ${project}: ${JSON.stringify(checked)}`);
    }
  } finally {
    await Promise.all([db.close(), clickhouse.close()]);
    await stores.close();
  }
  return all;
}

async function newProject(db: Database): Promise<number> {
  const id = randomUUID();
  await db.run(sql`INSERT INTO organizations (id, name, slug) VALUES (${id}, 'Persons', ${id})`);
  const project = await db.row<{ id: number }>(
    sql`INSERT INTO projects (uuid, organization_id, name, api_token)
      VALUES (${randomUUID()}, ${id}, 'Persons', ${id}) RETURNING id`,
  );
  return project!.id;
}
