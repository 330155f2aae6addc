import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { insertRunRow, newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { Queryable, Statement } from '../../../platform/postgres/database.ts';
import { listBackfills } from '../backfills/store.ts';
import { listRuns } from './store.ts';

const harness = aroundTests(() => openHarness({ clickhouse: false }));

test('runs of a rare status are found by its index, among however many others', async () => {
  const created = await newExport(await harness.newOrganization());
  const { db } = harness.deps;
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, created_at)
    SELECT made.id, e.id, e.team_id, 1, made.id, 'Completed', at, at + interval '1 hour', '[]', at
    FROM generate_series(timestamptz '2025-01-01', '2025-05-01', '1 hour') at
      CROSS JOIN LATERAL (SELECT gen_random_uuid() AS id WHERE at IS NOT NULL) made
      JOIN batch_exports e ON e.id = ${created.id}`);
  await insertRunRow(harness, created.id, { hour: 1, status: 'Failed' });
  await db.text('ANALYZE batch_export_runs');
  let plan = '';
  const explained: Queryable = {
    ...db,
    rows: async <Row>({ text, values }: Statement) => {
      const { rows } = await db.text(`EXPLAIN ${text}`, values);
      plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      return [] as Row[];
    },
  };
  const keyset = { column: 'created_at', type: 'timestamptz', descending: true } as const;
  for (const [statuses, index] of [
    [['TimedOut'], 'batch_export_runs_not_well'],
    [['Failed', 'Cancelled'], 'batch_export_runs_not_well'],
    [['Running'], 'batch_export_runs_taken'],
    [['Completed', 'Failed'], 'batch_export_runs_by_export'],
  ] as const) {
    const page = { ...keyset, backwards: false, from: undefined, limit: 10 };
    const wanted = { statuses: [...statuses], after: undefined, before: undefined };
    await listRuns(explained, created.id, page, wanted);
    assert.match(plan, new RegExp(index), plan);
  }
});

test('the runs of a backfill are counted by an index alone, however many they are', async () => {
  const { organization, project, ...home } = await harness.newOrganization();
  const created = await newExport({ organization, project, ...home });
  const { db } = harness.deps;
  const begun = await db.row<{ id: string }>(sql`
    INSERT INTO batch_export_backfills (id, batch_export_id, revision, mode, start_at, end_at,
      watermark, next_start_at, total_runs)
    VALUES (gen_random_uuid(), ${created.id}, 1, 'all', '2025-01-01', '2025-03-01', now(),
      '2025-03-01', 1417) RETURNING id`);
  await db.run(sql`
    INSERT INTO batch_export_runs (id, batch_export_id, team_id, revision, backfill_id, delivery_id,
      status, data_interval_start, data_interval_end, selection, records_completed,
      records_total_count, finished_at)
    SELECT gen_random_uuid(), ${created.id}, ${project.id}, 1, ${begun!.id}, gen_random_uuid(),
      (ARRAY['Completed', 'Failed', 'Running'])[1 + extract(hour FROM at)::integer % 3], at,
      at + interval '1 hour', '[]', 2, 3,
      CASE WHEN extract(hour FROM at)::integer % 3 < 2 THEN now() END
    FROM generate_series(timestamptz '2025-01-01', '2025-03-01', '1 hour') at`);
  await db.text('VACUUM (ANALYZE) batch_export_runs');
  const place = { organization_id: organization.id, team_id: project.id };
  const { rows } = listBackfills(place, created.id);
  const page = rows({ limit: 10, offset: 0 });
  const [shown] = await db.rows<{ progress: object }>(page);
  assert.deepEqual(shown?.progress, {
    total_runs: 1417,
    finished_runs: 945,
    completed_runs: 473,
    records_completed: 2834,
    records_total_count: 4251,
    records_elsewhere: 0,
  });
  const explained = await db.text(`EXPLAIN ${page.text}`, page.values);
  const plan = explained.rows.map((row) => row['QUERY PLAN']).join('\n');
  assert.match(plan, /Index Only Scan using batch_export_runs_by_backfill/, plan);
});
