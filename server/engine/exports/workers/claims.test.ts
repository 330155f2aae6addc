import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { findPrimary } from '../../../platform/postgres/control_store.ts';
import { insertRuns } from '../planning/plan.ts';
import type { LookedAt } from '../runs/count_windows.ts';
import { completeEmptyRuns } from '../runs/empty_runs.ts';
import { planDueExports } from '../runs/plan_due_exports.ts';
import { followPrimary } from './follow_primary.ts';
import { beat } from './heartbeat.ts';
import {
  openAroundTests,
  harness,
  world,
  newRuns,
} from '../../../../test/factories/batch_exports/claimed_runs.ts';

openAroundTests();

test('projects are served in turn, and in each the run that waits longest first', async () => {
  const [a, b, c] = [await newRuns(0, 4), await newRuns(1, 2), await newRuns(2, 1)] as const;
  const worker = world.openClaimant();
  assert.deepEqual(await worker.claim(2), [a[0], b[0]]);
  assert.deepEqual(await worker.claim(10), [c[0], a[1], b[1], a[2], a[3]]);
  assert.deepEqual(await worker.claim(10), []);
});

test('a project with a thousand runs does not delay another one', async () => {
  await harness.deps.db.transaction(async (tx) => {
    const hours = Array.from({ length: 1_000 }, (_, hour) => hour * 3_600_000);
    await insertRuns(
      tx,
      hours.map((from) => ({
        export: { id: world.exports[0]!.id, revision: 1 },
        backfill_id: null,
        from,
        to: from + 3_600_000,
        selection: [],
      })),
    );
  });
  const worker = world.openClaimant();
  assert.equal((await worker.claim(4)).length, 4);
  const late = await world.newRun(1, { hour: 23 });
  assert.equal((await worker.claim(1))[0], late);
});

test('a run planned without a look is looked at first, but does not wait forever', async () => {
  const due = '2026-01-01T01:00:00Z';
  const ids = world.exports.slice(0, 2).map(({ id }) => id);
  await harness.deps.db.run(sql`
    UPDATE batch_exports SET planned_until = ${due}::timestamptz - interval '1 hour',
      next_run_at = ${due}, end_at = ${due} WHERE id = ANY (${ids}::uuid[])`);
  const engine = harness.deps.engine;
  let told = 0;
  const away = () => Promise.reject(new Error('The store is away.'));
  assert.equal(await planDueExports(engine, { look: away, onPlanned: () => (told += 1) }), 2);
  assert.equal(told, 1, 'once for what was written together');
  const worker = world.openClaimant();
  assert.deepEqual(await worker.claim(10), []);
  const planned = await harness.deps.db.rows<{
    id: string;
    team_id: number;
    seconds: number;
  }>(sql`
    SELECT id, team_id, extract(epoch FROM due_at - created_at)::float AS seconds
      FROM batch_export_runs ORDER BY team_id`);
  assert.deepEqual(
    planned.map(({ seconds }) => seconds),
    [5, 5],
  );
  const [unseen, seen] = planned.map(({ id }) => id);
  const look = async <Run extends LookedAt>(runs: Run[]) => ({
    empty: [],
    small: [],
    busy: runs.filter(({ team_id }) => team_id === planned[1]!.team_id),
  });
  for (
    let more = await completeEmptyRuns(engine, look);
    more > 0;
    more = await completeEmptyRuns(engine, look)
  );
  assert.deepEqual(await worker.claim(10), [seen]);
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET due_at = created_at WHERE id = ${unseen}`,
  );
  assert.deepEqual(await worker.claim(10), [unseen]);
});

test('four small runs share a slot, a large one whose turn it is has a whole one', async () => {
  const small = await newRuns(0, 6);
  await harness.deps.db.run(sql`UPDATE batch_export_runs SET is_small = true`);
  const large = await world.newRun(1);
  const worker = world.openClaimant();
  assert.deepEqual(await worker.claim(0.75), small.slice(0, 1), 'nothing goes past the large one');
  assert.deepEqual(await worker.claim(1), [large]);
  assert.deepEqual(await worker.claim(1), small.slice(1, 5));
  assert.deepEqual(await worker.claim(1), small.slice(5));
});

test('the bounds hold over all workers, and held back runs take no slot', async () => {
  const bounds = { project_runs_max: 2, host_runs_max: 3 };
  const [first, second] = [world.openClaimant(bounds), world.openClaimant(bounds)];
  const a = await newRuns(0, 5, 'db.example.com');
  const b = await newRuns(1, 5, 'db.example.com');
  assert.deepEqual(await first.claim(2), [a[0], b[0]]);
  assert.deepEqual(await second.claim(10), [a[1]], 'the host has three');
  const free = await world.newRun(1, { hour: 20 });
  const elsewhere = await world.newRun(0, { hour: 20, host: 'other.example.com' });
  const third = await world.newRun(2, { hour: 20, host: 'db.example.com' });
  assert.deepEqual(
    await second.claim(10),
    [free],
    'the first project has two, and behind runs to the full host another one goes',
  );
  await world.end(a[0]!);
  assert.deepEqual(
    await first.claim(10),
    [third, elsewhere],
    'one more to the host, one more of the first project',
  );
  await world.end(a[1]!);
  assert.deepEqual(await second.claim(10), [a[2]]);
});

test('a stalled run frees its project slot up to twice the bound, not its host', async () => {
  const worker = world.openClaimant({ project_runs_max: 2, host_runs_max: 5 });
  const runs = await newRuns(0, 6, 'db.example.com');
  for (const two of [runs.slice(0, 2), runs.slice(2, 4)]) {
    assert.deepEqual(await worker.claim(10), two);
    assert.deepEqual(await worker.claim(10), [], 'those that do something have the slots');
    two.forEach(worker.stall);
  }
  assert.deepEqual(await worker.claim(10), [], 'the project has twice its bound');
  const [one, other] = [
    await world.newRun(1, { host: 'db.example.com' }),
    await world.newRun(2, { host: 'db.example.com' }),
  ];
  assert.deepEqual(
    await worker.claim(10),
    [one],
    'another project does not wait, but the host has five',
  );
  await world.end(runs[0]!);
  assert.deepEqual(
    await world.openClaimant({ project_runs_max: 2, host_runs_max: 5 }).claim(10),
    [other],
    'a worker knows of its own stalls only',
  );
});

test('a run remembers the host of its destination, as far as that is bounded', async () => {
  const hosts: [string, Record<string, unknown>, string | null][] = [
    [
      'Postgres',
      { host: 'DB.example.com', user: 'u', password: 'p', database: 'd' },
      'db.example.com',
    ],
    ['MySQL', { host: '127.0.0.1' }, '127.0.0.1'],
    ['ClickHouse', { url: 'https://Warehouse.example.com:8443' }, 'warehouse.example.com'],
    ['HTTP', { url: 'https://hooks.example.com/a/b' }, 'hooks.example.com'],
    ['S3', { endpoint_url: 'http://store.example.com:9000' }, 'store.example.com'],
    ['S3', { region: 'eu-central-1' }, null],
    ['Snowflake', { account: 'My_Org-Account' }, 'my-org-account.snowflakecomputing.com'],
    [
      'Snowflake',
      { account: 'other', host: 'Account.privatelink.example.com:8443' },
      'account.privatelink.example.com',
    ],
    ['BigQuery', { project_id: 'warehouse-1' }, 'warehouse-1.bigquery.googleapis.com'],
    ['File', { prefix: 'x' }, null],
    ['NoOp', {}, null],
  ];
  for (const [type, config, host] of hosts) {
    await harness.deps.db.run(
      sql`UPDATE batch_exports SET destination_type = ${type},
        destination_config = ${JSON.stringify(config)} WHERE id = ${world.exports[0]!.id}`,
    );
    const planned = {
      export: { id: world.exports[0]!.id, revision: 1 },
      backfill_id: null,
      from: 0,
      to: 1,
      selection: [],
      is_make_up: true,
    };
    const [id] = await harness.deps.db.transaction((tx) => insertRuns(tx, [planned]));
    assert.deepEqual(
      await harness.deps.db.row(sql`SELECT host, team_id FROM batch_export_runs WHERE id = ${id}`),
      { host, team_id: world.exports[0]!.team_id },
      type,
    );
  }
});

test('a claim under another primary repeats no number, and waits until it is noted', async () => {
  const [once, never] = await newRuns(0, 2);
  const { db } = harness.deps;
  const worker = world.openClaimant();
  assert.deepEqual(await worker.claim(1), [once]);
  // As if a standby was promoted: claims that it never got may have had the numbers after these.
  await db.run(sql`UPDATE batch_export_runs SET epoch = 0, worker_id = NULL, due_at = now()
    WHERE id = ANY (${[once, never]}::uuid[])`);
  const fact = { ...db.epoch(), timeline: 0, lost_bytes: 0 };
  await db.run(sql`INSERT INTO server_facts (name, value)
    VALUES ('control_store', ${JSON.stringify(fact)}::jsonb)`);
  const other = world.openClaimant();
  assert.deepEqual(await other.claim(10), []);
  await followPrimary(harness.deps.engine)(await beat(db, worker.worker_id));
  assert.deepEqual(new Set(await other.claim(10)), new Set([once, never]));
  assert.deepEqual(
    await db.rows(sql`SELECT attempt, epoch = control_epoch() AS is_now FROM batch_export_runs
      WHERE id = ANY (${[once, never]}::uuid[]) ORDER BY attempt`),
    [
      { attempt: 100, is_now: true },
      { attempt: 101, is_now: true },
    ],
  );
});

test('a promoted standby is recorded at a heartbeat, with no export set aside', async () => {
  const { db, engine } = harness.deps;
  const worker = world.openClaimant();
  const now = await beat(db, worker.worker_id);
  const follow = followPrimary(engine);
  await follow({ ...now, epoch: now.epoch - 1 });
  await db.run(sql`UPDATE server_facts SET value = value || '{"timeline": 0}'
    WHERE name = 'control_store'`);
  await follow(now);
  const noted = await findPrimary(db);
  assert.deepEqual([noted?.timeline, noted?.lost_bytes], [db.epoch()?.timeline, 0]);
  assert.deepEqual(await db.rows(sql`SELECT 1 FROM reconciliations`), []);
});
