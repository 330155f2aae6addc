import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import { PluginError } from '../plugin.ts';
import { readKey } from './storage.ts';

/** A job that a plugin requested; `failures` counts its own. */
export type Job = {
  id: string;
  name: string;
  payload: unknown;
  failures: number;
  is_started_by_person: boolean;
};

const jobs_max = 10_000;

/**
 * Stores a job that is due after `delay_ms`, and returns its id. A plugin may have 10,000 waiting
 * jobs; a PluginError refuses further ones.
 */
export async function addJob(
  db: Queryable,
  config_id: number,
  name: string,
  payload: unknown,
  delay_ms: number,
  by: 'plugin' | 'person' = 'plugin',
): Promise<string> {
  const id = uuidv7();
  const added = await db.run(sql`
    INSERT INTO plugin_jobs (id, plugin_config_id, name, payload, is_started_by_person, run_at)
    SELECT ${id}::uuid, ${config_id}::integer, ${readKey(name)}::text,
      ${JSON.stringify(payload ?? null)}::json, ${by === 'person'}::boolean,
      now() + make_interval(secs => ${delay_ms / 1000}::float8)
    WHERE (SELECT count(*) FROM plugin_jobs WHERE plugin_config_id = ${config_id}) < ${jobs_max}`);
  if (added === 0)
    throw new PluginError(
      'too_large',
      `The plugin has ${jobs_max} jobs waiting: let some of them run first.`,
    );
  return id;
}

/** Finds the longest due job. Uses plugin_jobs_by_config. */
export async function findDueJob(db: Database, config_id: number): Promise<Job | undefined> {
  const row = await db.row<Omit<Job, 'payload'> & { payload: string }>(sql`
    SELECT id, name, payload::text AS payload, failures, is_started_by_person FROM plugin_jobs
    WHERE plugin_config_id = ${config_id} AND run_at <= now() ORDER BY run_at, id LIMIT 1`);
  return row === undefined ? undefined : { ...row, payload: JSON.parse(row.payload) as unknown };
}

/** Removes a job that is done or finally failed. */
export async function removeJob(db: Database, id: string): Promise<void> {
  await db.run(sql`DELETE FROM plugin_jobs WHERE id = ${id}`);
}

/** Defers a job to its next try; `failed` includes this failure. */
export async function postponeJob(
  db: Database,
  id: string,
  seconds: number,
  failed: boolean,
): Promise<void> {
  await db.run(
    sql`UPDATE plugin_jobs SET failures = failures + ${failed ? 1 : 0}::integer,
      run_at = now() + make_interval(secs => ${seconds}::float8) WHERE id = ${id}`,
  );
}
