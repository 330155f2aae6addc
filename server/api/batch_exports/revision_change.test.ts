import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  insertRunRow,
  newExport,
  organizationBase,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { completed, endedRun } from '../../../test/factories/batch_exports/ended_runs.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { undelivered } from '../../engine/model/ledger/ledger.ts';

const harness = shareHarness({ clickhouse: false });

type Plan = {
  revision: number;
  planned_until: string;
  next_run_at: string | null;
  timezone: string;
};
const planOf = async (id: string) =>
  (await harness.deps.db.row<Plan>(
    sql`SELECT revision, planned_until, next_run_at, timezone FROM batch_exports WHERE id = ${id}`,
  ))!;
const cancelled = async (id: string) =>
  (await harness.deps.db.row<{ is: boolean }>(
    sql`SELECT cancel_requested_at IS NOT NULL AS is FROM batch_export_runs WHERE id = ${id}`,
  ))!.is;
const file = { type: 'File', config: { prefix: 'a' } };

/** An export whose schedule stands at 05:00 of 1 January 2026. */
async function standing(
  home: TestOrganization,
  body: Record<string, unknown> = { destination: file },
) {
  const created = await newExport(home, body);
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET planned_until = '2026-01-01T05:00:00.000000Z',
      next_run_at = '2026-01-01T06:00:00.000000Z' WHERE id = ${created.id}`,
  );
  return created;
}

test('a change of the place takes open runs back and plans them under a new revision', async () => {
  const home = await harness.newOrganization();
  const created = await standing(home);
  const done = await insertRunRow(harness, created.id, { hour: 1, status: 'Completed' });
  const committing = await insertRunRow(harness, created.id, {
    hour: 2,
    status: 'Running',
    committing: true,
  });
  const open = await insertRunRow(harness, created.id, { hour: 3, status: 'Running' });
  const later = await insertRunRow(harness, created.id, { hour: 4 });
  const retry = await insertRunRow(harness, created.id, { hour: 0, delivery_id: done });
  const changed = await home.ask('PATCH', `${projectBase(home)}${created.id}/`, {
    destination: { config: { prefix: 'b' } },
  });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(await planOf(created.id), {
    revision: 2,
    planned_until: '2026-01-01T03:00:00.000000Z',
    next_run_at: '2026-01-01T04:00:00.000000Z',
    timezone: 'UTC',
  });
  assert.deepEqual(await Promise.all([done, committing, open, later, retry].map(cancelled)), [
    false,
    false,
    true,
    true,
    true,
  ]);
});

test('a new revision delivers again what the one before has, or may have, delivered', async () => {
  const home = await harness.newOrganization();
  const { id } = await standing(home);
  await endedRun(harness, id, completed, { hour: 1 });
  await insertRunRow(harness, id, { hour: 2, status: 'Failed', committing: true });
  const hours = [
    {
      event_from: -Infinity,
      event_to: Infinity,
      inserted_from: Date.parse('2026-01-01T01:00:00Z'),
      inserted_to: Date.parse('2026-01-01T03:00:00Z'),
    },
  ];
  const left = (revision: number) =>
    harness.deps.db.transaction((tx) => undelivered(tx, id, revision, hours));
  assert.deepEqual(await left(1), []);
  const changed = await home.ask('PATCH', `${projectBase(home)}${id}/`, {
    destination: { config: { prefix: 'b' } },
  });
  assert.equal(changed.status, 200, changed.text);
  const { revision } = await planOf(id);
  assert.deepEqual([revision, await left(revision)], [2, hours]);
});

test('some changes start a revision and others do not', async () => {
  const home = await harness.newOrganization();
  const cases: [Record<string, unknown>, number][] = [
    [{ name: 'x', paused: true, end_at: '2040-01-01T00:00:00.000000Z' }, 1],
    [{ destination: { config: { compression: 'gzip', max_file_size_mb: 10 } } }, 1],
    [{ destination: { config: { prefix: 'a' } } }, 1],
    [{ model: 'events', custom_query: null }, 1],
    [{ model: 'persons' }, 2],
    [{ destination: { config: { file_format: 'CSV' } } }, 2],
    [{ destination: { type: 'NoOp', config: {} } }, 2],
  ];
  for (const [body, revision] of cases) {
    const created = await standing(home);
    const run = await insertRunRow(harness, created.id, { hour: 4 });
    const changed = await home.ask('PATCH', `${organizationBase(home)}${created.id}/`, body);
    assert.equal(changed.status, 200, changed.text);
    const plan = await planOf(created.id);
    assert.deepEqual(
      [plan.revision, await cancelled(run), plan.planned_until],
      [
        revision,
        revision === 2,
        revision === 2 ? '2026-01-01T04:00:00.000000Z' : '2026-01-01T05:00:00.000000Z',
      ],
      JSON.stringify(body),
    );
  }
});

test('a new secret keeps the revision, a new host does not', async () => {
  const home = await harness.newOrganization();
  const created = await standing(home, {
    destination: {
      type: 'Postgres',
      config: { user: 'u', password: 'p', host: 'h', database: 'd' },
    },
  });
  const patch = async (config: unknown) => {
    assert.equal(
      (await home.ask('PATCH', `${projectBase(home)}${created.id}/`, { destination: { config } }))
        .status,
      200,
    );
    return (await planOf(created.id)).revision;
  };
  assert.equal(await patch({ user: 'v', password: 'q', require_tls: false }), 1);
  assert.equal(await patch({ host: 'other', password: 'q' }), 2);
  assert.equal(await patch({ schema: 'x', table_name: 'y' }), 3);
});

test("an interval's change leaves no gap and takes the project's time zone", async () => {
  const home = await harness.newOrganization();
  const created = await standing(home);
  await home.ask('PATCH', `/api/projects/${home.project.id}/`, { timezone: 'Asia/Tokyo' });
  const patch = (body: unknown) => home.ask('PATCH', `${projectBase(home)}${created.id}/`, body);
  await patch({ name: 'x', interval: 'hour' });
  assert.deepEqual(await planOf(created.id), {
    revision: 1,
    planned_until: '2026-01-01T05:00:00.000000Z',
    next_run_at: '2026-01-01T06:00:00.000000Z',
    timezone: 'UTC',
  });
  await patch({ interval: 'day' });
  assert.deepEqual(await planOf(created.id), {
    revision: 1,
    planned_until: '2026-01-01T05:00:00.000000Z',
    next_run_at: '2026-01-01T15:00:00.000000Z',
    timezone: 'Asia/Tokyo',
  });
  assert.equal((await newExport(home, { interval: 'day' })).interval, 'day');
});

test("a new interval that moves folders into the project's zone starts a revision", async () => {
  const home = await harness.newOrganization();
  for (const [prefix, revision] of [
    ['a/{start_day}', 1],
    ['a/{local_day}', 2],
  ] as const) {
    const created = await standing(home, { destination: { type: 'File', config: { prefix } } });
    await harness.deps.db.run(
      sql`UPDATE batch_exports SET timezone = 'Asia/Kolkata' WHERE id = ${created.id}`,
    );
    const url = `${projectBase(home)}${created.id}/`;
    assert.equal((await home.ask('PATCH', url, { interval: 'day' })).status, 200);
    const plan = await planOf(created.id);
    assert.deepEqual([plan.revision, plan.timezone], [revision, 'UTC'], prefix);
  }
});
