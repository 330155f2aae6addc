// Plants the rows of growth.ts by SQL: runs of one export, members, keys, rectangles of a ledger.
import sql from 'sql-template-tag';
import { addDelivered } from '../../server/engine/model/ledger/ledger.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import type { TestOrganization } from '../../test/harness.ts';
import { inBulk } from './bulk.ts';

/**
 * Plants hourly runs from number `before`, with a log line each. Every fortieth failed, and none
 * timed out.
 */
export async function plantRuns(
  db: Database,
  id: string,
  before: number,
  size: number,
): Promise<void> {
  const numbers = sql`generate_series(${before}::integer, ${size - 1}::integer) n`;
  // Before the creation of the export, and equal for all sizes.
  const at = sql`date_trunc('hour', e.created_at) - n * interval '1 hour'`;
  await inBulk(db, 'batch_export_runs', async (tx) => {
    await tx.run(sql`
      INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
        data_interval_start, data_interval_end, selection, created_at, finished_at,
        last_updated_at, records_total_count, records_completed, receipt)
      SELECT made.id, e.id, e.team_id, 1, made.id,
        CASE WHEN n % 40 = 0 THEN 'Failed' ELSE 'Completed' END, ${at}, ${at} + interval '1 hour',
        '[]', ${at}, ${at}, ${at}, 100, 100, repeat(md5(n::text), 12)
      FROM ${numbers} JOIN batch_exports e ON e.id = ${id}
        CROSS JOIN LATERAL (SELECT uuidv7() AS id WHERE (n, e.id) IS NOT NULL) made`);
  });
  await db.run(sql`
    INSERT INTO batch_export_health (batch_export_id, revision, delivered_until, is_failing,
      consecutive_failures, is_late, is_volume_unusual)
    -- The server locks the export before its health, too.
    SELECT id, 1, now(), false, 0, false, false FROM batch_exports WHERE id = ${id} FOR UPDATE
    ON CONFLICT DO NOTHING`);
  await inBulk(db, 'batch_export_logs', async (tx) => {
    await tx.run(sql`
      INSERT INTO batch_export_logs (batch_export_id, run_id, level, message)
      SELECT ${id}, NULL, 'INFO', 'Line ' || n FROM ${numbers}`);
  });
}

/** Plants members of the organization, and as many keys of the caller. */
export async function plantMembers(
  db: Database,
  { organization, user }: TestOrganization,
  before: number,
  size: number,
): Promise<void> {
  await db.run(sql`
    WITH made AS (
      INSERT INTO users (uuid, distinct_id, email, first_name)
      SELECT gen_random_uuid(), gen_random_uuid()::text, 'planted' || n || '@example.com', 'P' || n
      FROM generate_series(${before}::integer, ${size - 1}::integer) n RETURNING id)
    INSERT INTO members (id, organization_id, user_id, level, joined_at)
    SELECT gen_random_uuid(), ${organization.id}::uuid, id, 1, now() - id * interval '1 second'
    FROM made`);
  await db.run(sql`
    INSERT INTO personal_api_keys (id, user_id, label, key_hash, mask_value, scopes,
      created_at)
    SELECT gen_random_uuid(), ${user.id}, 'Key ' || n, sha256(('planted' || n)::bytea),
      'slk_...abcd', ARRAY['*'], now() - n * interval '1 second'
    FROM generate_series(${before}::integer, ${size - 1}::integer) n`);
}

/** Plants a ledger of this many rectangles up to now: a delivered hour, then a missing one. */
export async function plantRectangles(db: Database, id: string, size: number): Promise<void> {
  const hour = 3_600_000;
  const end = Math.floor(Date.now() / hour) * hour;
  const selection = Array.from({ length: size }, (_, at) => ({
    event_from: -Infinity,
    event_to: Infinity,
    inserted_from: end - (size - at) * 2 * hour,
    inserted_to: end - (size - at) * 2 * hour + hour,
  }));
  await db.run(sql`DELETE FROM batch_export_ledgers WHERE batch_export_id = ${id}`);
  await db.run(sql`DELETE FROM batch_export_ledger_pages WHERE batch_export_id = ${id}`);
  await db.transaction((tx) => addDelivered(tx, [{ batch_export_id: id, revision: 1, selection }]));
  const start = new Date(end - size * 2 * hour).toISOString();
  await db.run(sql`UPDATE batch_exports SET created_at = ${start}, planned_until = now()
    WHERE id = ${id}`);
}
