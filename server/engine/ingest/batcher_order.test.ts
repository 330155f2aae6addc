import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { isoInstant, systemClock } from '../../platform/clock.ts';
import { lockForWriting, noteBatch, readState, settled } from './lock.ts';
import {
  openAroundTests,
  harness,
  open,
  newTeam,
  event,
  store,
  select,
  count,
} from '../../../test/factories/events/ingestions.ts';

openAroundTests();

test('a batch that a killed process left is taken up by the next one', async () => {
  const teamId = await newTeam();
  const { db } = harness.deps;
  const inserted_at = isoInstant(systemClock.now() + 60_000);
  await noteBatch(db, {
    team_id: teamId,
    epoch: 1,
    batch_id: randomUUID(),
    inserted_at,
    writes_persons: true,
    seconds_max: 30,
    last_inserted_at: null,
  });
  assert.equal(
    Date.parse(await db.transaction((tx) => settled(tx, teamId))),
    Date.parse(inserted_at),
  );
  await store(open(), teamId, [event({ uuid: randomUUID() })]);
  const [row] = await select<{ at: string }>(
    'SELECT inserted_at AS at FROM events WHERE team_id = {team_id:Int64}',
    teamId,
  );
  assert.ok(Date.parse(row!.at) > Date.parse(inserted_at));
  assert.equal((await readState(db, teamId)).batch_id, null);
});

test('the batch of another primary is settled once its writer sends nothing', async () => {
  const teamId = await newTeam();
  const { db } = harness.deps;
  const { epoch } = await readState(db, teamId);
  const note = {
    team_id: teamId,
    batch_id: randomUUID(),
    inserted_at: isoInstant(systemClock.now()),
    writes_persons: false,
    seconds_max: 30,
    last_inserted_at: null,
  };
  assert.equal(await noteBatch(db, { ...note, epoch: epoch + 1 }), 'refused');
  assert.equal(await noteBatch(db, { ...note, epoch }), 'noted');
  await db.run(sql`UPDATE ingestion_states SET batch_epoch = 0 WHERE team_id = ${teamId}`);
  const tried = async () => {
    const { stored } = await open().add(teamId, [event()]);
    return stored;
  };
  assert.deepEqual(await tried(), { failure: 'unavailable' });
  assert.equal((await readState(db, teamId)).batch_id, note.batch_id);
  await db.run(sql`UPDATE ingestion_states SET batch_ends_at = now() - interval '6 seconds'
    WHERE team_id = ${teamId}`);
  assert.ok('taken' in (await tried()));
  assert.equal((await count(teamId)).rows, 1);
});

test('settled waits for the batch in progress, and the next one waits meanwhile', async () => {
  const teamId = await newTeam();
  const { db } = harness.deps;
  const order: string[] = [];
  const writing = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const writer = db.transaction(async (tx) => {
    await lockForWriting(tx, teamId);
    locked.resolve();
    await writing.promise;
    order.push('written');
  });
  await locked.promise;
  const planner = db.transaction(async (tx) => {
    const until = await settled(tx, teamId);
    order.push('settled');
    return until;
  });
  await eventually(
    'waited in vain',
    async () =>
      (await db.row<{ waiting: number }>(
        sql`SELECT count(*)::integer AS waiting FROM pg_locks WHERE locktype = 'advisory'
          AND NOT granted`,
      ))!.waiting > 0,
  );
  writing.resolve();
  await writer;
  const until = await planner;
  assert.deepEqual(order, ['written', 'settled']);
  await store(open(), teamId, [event()]);
  const [row] = await select<{ at: string }>(
    'SELECT inserted_at AS at FROM events WHERE team_id = {team_id:Int64}',
    teamId,
  );
  assert.ok(Date.parse(row!.at) >= Date.parse(until));
});

test('insertion times go on after the store when the control store forgot them', async () => {
  const teamId = await newTeam();
  const ingestion = open();
  await store(ingestion, teamId, [event()]);
  const future = isoInstant(systemClock.now() + 3_600_000)
    .replace('T', ' ')
    .replace('Z', '');
  await harness.deps.clickhouse.command({
    query: `INSERT INTO events (team_id, uuid, event, distinct_id, inserted_at)
      VALUES (${teamId}, generateUUIDv4(), 'later', 'd', '${future}')`,
  });
  await harness.deps.db.run(sql`DELETE FROM ingestion_states WHERE team_id = ${teamId}`);
  await store(ingestion, teamId, [event({ event: 'last' })]);
  const rows = await select<{ event: string }>(
    'SELECT event FROM events WHERE team_id = {team_id:Int64} ORDER BY inserted_at',
    teamId,
  );
  assert.deepEqual(
    rows.map((row) => row.event),
    ['e', 'later', 'last'],
  );
});

test('an unknown project has its own error; waiting callers are bounded', async () => {
  const { stored } = await open().add(2_000_000_000, [event()]);
  assert.deepEqual(await stored, { failure: 'project_gone' });
  const teamId = await newTeam();
  const tight = open({ queue_bytes_max: 1_000, batch_rows_max: 5 });
  const results = await Promise.all(
    Array.from({ length: 40 }, () => store(tight, teamId, [event(), event()])),
  );
  assert.equal(
    results.reduce((sum, result) => sum + result.taken, 0),
    80,
  );
  await tight.drain();
  assert.deepEqual(await count(teamId), { rows: 80, uuids: 80 });
});

test('a project that cannot be stored does not delay the others', async () => {
  const [stuck, other] = [await newTeam(), await newTeam()];
  const tight = open({ queue_bytes_max: 8_000 });
  const held = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = harness.deps.db.transaction(async (tx) => {
    await lockForWriting(tx, stuck);
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  const waiting = Array.from({ length: 40 }, () => tight.add(stuck, [event()]));
  await store(tight, other, [event()]);
  held.resolve();
  await holding;
  for (const { stored } of await Promise.all(waiting)) assert.ok('taken' in (await stored));
  assert.equal((await count(stuck)).rows, 40);
});

test('batches grow while the store is quick, and stay small while it is not', async () => {
  const sizesOf = async (quick_ms: number) => {
    const teamId = await newTeam();
    const ingestion = open({ batch_rows_max: 8, quick_ms, slow_ms: 1e6 });
    await Promise.all(Array.from({ length: 14 }, () => store(ingestion, teamId, [event()])));
    const batches = await select<{ rows: number }>(
      'SELECT toUInt32(count()) AS rows FROM events WHERE team_id = {team_id:Int64} ' +
        'GROUP BY inserted_at ORDER BY inserted_at',
      teamId,
    );
    return batches.map(({ rows }) => rows);
  };
  assert.deepEqual(await sizesOf(1e6), [2, 4, 8]);
  assert.deepEqual(await sizesOf(0), [2, 2, 2, 2, 2, 2, 2]);
});
