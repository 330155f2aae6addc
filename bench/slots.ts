// Asks for the slots of an export with a long history: 200,000 slots of five minutes, 5 % of which
// failed or are missing, and a million runs. Run: npm run bench slots
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { newExport, projectBase } from '../test/factories/batch_exports.ts';
import { buildApp } from '../server/app.ts';
import { openHarness } from '../test/harness.ts';
import type { Harness } from '../test/harness.ts';

const slots = 200_000;
const backfill_runs = 800_000;
const rounds = 3;
const from = '2024-01-01T00:00:00Z';

/** Rows as the planner and the workers leave them; the receipts are about as long as real ones. */
async function fill({ deps: { db } }: Harness, id: string): Promise<void> {
  const receipt = sql`repeat(md5(n::text), 12)`;
  const at = sql`${from}::timestamptz + n * interval '5 minutes'`;
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, created_at, finished_at,
      records_total_count, records_completed, receipt)
    SELECT made.id, ${id}, e.team_id, 1, made.id,
      CASE WHEN n % 40 = 0 THEN 'Failed' ELSE 'Completed' END, ${at},
      ${at} + interval '5 minutes', '[]', ${at}, ${at}, 100, 100, ${receipt}
    FROM generate_series(0, ${slots - 1}::integer) n
      CROSS JOIN LATERAL (SELECT gen_random_uuid() AS id WHERE n >= 0) made
      JOIN batch_exports e ON e.id = ${id} WHERE n % 40 <> 20`);
  const backfill = uuidv7();
  await db.run(sql`
    INSERT INTO batch_export_backfills (id, batch_export_id, revision, mode, start_at, end_at,
      watermark, next_start_at, total_runs, status, finished_at)
    VALUES (${backfill}, ${id}, 1, 'all', ${from}, ${from}, ${from}, ${from}, 1, 'Completed',
      now())`);
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, backfill_id,
      status, data_interval_start, data_interval_end, selection, created_at, finished_at,
      records_total_count, records_completed, receipt)
    SELECT made.id, ${id}, e.team_id, 1, made.id, ${backfill}, 'Completed', ${from}, ${from}, '[]',
      now(), now(), 100, 100, ${receipt}
    FROM generate_series(0, ${backfill_runs - 1}::integer) n
      CROSS JOIN LATERAL (SELECT gen_random_uuid() AS id WHERE n >= 0) made
      JOIN batch_exports e ON e.id = ${id}`);
  // What the ledger has: all but each fortieth slot and the one between.
  const hour = 3_600_000;
  const areas = Array.from({ length: slots / 20 }, (_, index) => ({
    event_from: null,
    event_to: null,
    inserted_from: Date.parse(from) + (index * 20 + 1) * (hour / 12),
    inserted_to: Date.parse(from) + (index + 1) * 20 * (hour / 12),
  }));
  await db.run(sql`INSERT INTO batch_export_ledgers (batch_export_id, revision, delivered)
    VALUES (${id}, 1, ${JSON.stringify(areas)})`);
  await db.run(sql`UPDATE batch_exports SET created_at = ${from},
    planned_until = ${from}::timestamptz + ${slots}::integer * interval '5 minutes'
      WHERE id = ${id}`);
  await db.text('VACUUM ANALYZE batch_export_runs');
}

async function main(): Promise<void> {
  const house = await openHarness({ clickhouse: false });
  try {
    const home = await house.newOrganization();
    const { id } = await newExport(house, home, { interval: 'every 5 minutes' });
    await fill(house, id);
    // Not the harness's own app, which checks every answer against its schema.
    const app = buildApp(house.deps);
    const to = new Date(Date.parse(from) + slots * 300_000).toISOString();
    for (let round = 0; round < rounds; round += 1) {
      const began = performance.now();
      const answer = await app.inject({
        method: 'GET',
        url: `${projectBase(home)}${id}/slots/?after=${from}&before=${to}`,
        headers: { authorization: `Bearer ${home.key}` },
      });
      const took = Math.round(performance.now() - began);
      const body = answer.json<{ slots: number; ranges: unknown[]; next: string | null }>();
      console.log(
        `${answer.statusCode}: ${body.slots} slots, ${body.ranges.length} ranges, ` +
          `${answer.body.length} bytes in ${took} ms; more: ${body.next !== null}`,
      );
    }
    await app.close();
  } finally {
    await house.close();
  }
}

await main();
