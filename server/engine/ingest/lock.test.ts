import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, request } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { isoInstant, systemClock } from '../../platform/clock.ts';
import { silentLog } from '../../platform/log.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { openSecrets } from '../../platform/secrets/secrets.ts';
import { openIngestion } from './batcher.ts';
import { clearBatch, lockForWriting, noteBatch, readState, settled } from './lock.ts';
import { parseEvent } from './parse/parse.ts';
import { resolveBatches } from './resolve.ts';
import { listen, urlOf } from '../../../test/servers/loopback.ts';
import { countWaiting } from '../../../test/watchers/waiting_statements.ts';

const log = silentLog();
const secrets = openSecrets('a secret');
let stores: TestStores;
let db: Database;
let clickhouse: ClickHouse;
before(async () => {
  stores = await openTestStores({ clickhouse: true });
  db = openDatabase(stores.database_url, { connections_max: 10, application_name: 'sluice-test' });
  clickhouse = openClickHouse(stores.clickhouse_url, { application: 'sluice-test' });
});
after(async () => {
  await Promise.all([db.close(), clickhouse.close()]);
  await stores.close();
});

async function newTeam(): Promise<number> {
  const id = randomUUID();
  await db.run(sql`INSERT INTO organizations (id, name, slug) VALUES (${id}, 'Lock', ${id})`);
  const project = await db.row<{ id: number }>(
    sql`INSERT INTO projects (uuid, organization_id, name, api_token)
      VALUES (${randomUUID()}, ${id}, 'Lock', ${id}) RETURNING id`,
  );
  return project!.id;
}

const promise = (teamId: number) => db.transaction((tx) => settled(tx, teamId));
const inMinutes = (minutes: number) => isoInstant(systemClock.now() + minutes * 60_000);

function note(
  team_id: number,
  inserted_at: string,
  last_inserted_at: string | null = null,
  seconds_max = 30,
) {
  return {
    team_id,
    epoch: 1,
    batch_id: randomUUID(),
    inserted_at,
    last_inserted_at,
    writes_persons: false,
    seconds_max,
  };
}

async function store(
  teamId: number,
  fields: {
    through?: ClickHouse;
    seconds?: number;
    uuid?: string;
    set?: object;
    log?: typeof log;
  } = {},
) {
  const parts = { db, clock: systemClock, log: fields.log ?? log, secrets };
  const limits = { look_up_seconds_max: fields.seconds ?? 30 };
  const ingestion = openIngestion({ ...parts, clickhouse: fields.through ?? clickhouse }, limits);
  const { uuid = randomUUID(), set: $set } = fields;
  const sent = { event: 'e', distinct_id: 'd', uuid, $set };
  const { event } = parseEvent(JSON.stringify(sent), systemClock.now());
  return (await ingestion.add(teamId, [event!])).stored;
}

async function insertions(teamId: number): Promise<number[]> {
  const query =
    'SELECT inserted_at FROM events WHERE team_id = {team_id:Int64} ORDER BY inserted_at';
  const found = await clickhouse.rows<{ inserted_at: string }>({
    query,
    query_params: { team_id: teamId },
  });
  return found.map((row) => Date.parse(row.inserted_at));
}

test('a clock that was put back gives no time below what was promised as final', async () => {
  const teamId = await newTeam();
  await promise(teamId);
  // A promise made by a clock that is one hour ahead.
  const ahead = inMinutes(60);
  await db.run(sql`UPDATE ingestion_states SET settled_until = ${ahead} WHERE team_id = ${teamId}`);
  assert.equal(Date.parse(await promise(teamId)), Date.parse(ahead));
  for (let batch = 0; batch < 2; batch += 1)
    assert.deepEqual(await store(teamId), { taken: 1, duplicates: 0, refused: 0 });
  assert.deepEqual(await insertions(teamId), [Date.parse(ahead), Date.parse(ahead) + 1]);
});

test('several planners may get a promise at once; a deleted project is no error', async () => {
  const teamId = await newTeam();
  const promises = await Promise.all(Array.from({ length: 6 }, () => promise(teamId)));
  const state = await readState(db, teamId);
  assert.equal(Math.max(...promises.map((at) => Date.parse(at))), Date.parse(state.settled_until!));
  assert.ok(Date.parse(await promise(2_000_000_001)) > 0);
});

test('a batch is noted on the state it was made from only, above what is promised', async () => {
  const teamId = await newTeam();
  const until = Date.parse(await promise(teamId));
  assert.equal(await noteBatch(db, note(teamId, isoInstant(until - 1))), 'refused');
  const first = note(teamId, isoInstant(until));
  assert.equal(await noteBatch(db, first), 'noted');
  assert.equal(await noteBatch(db, note(teamId, inMinutes(1))), 'refused');
  assert.equal(await noteBatch(db, note(teamId, inMinutes(1), isoInstant(until + 5))), 'refused');
  assert.equal((await readState(db, teamId)).batch_id, first.batch_id);
  assert.equal(await noteBatch(db, note(teamId, inMinutes(1), isoInstant(until))), 'noted');
});

test('a note does not wait for ever for whoever may be waiting for its writer', async () => {
  const teamId = await newTeam();
  await db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM projects WHERE id = ${teamId} FOR UPDATE`);
    const stored = store(teamId);
    await assert.rejects(noteBatch(db, note(teamId, inMinutes(0))), { code: '55P03' });
    assert.deepEqual(await stored, { failure: 'unavailable' });
  });
  assert.deepEqual(await store(teamId), { taken: 1, duplicates: 0, refused: 0 });
});

test('an event that arrives while its project is deleted is dropped without a fault', async () => {
  const teamId = await newTeam();
  await store(teamId);
  const told: unknown[] = [];
  const heard = Object.assign(silentLog(), { error: (...line: unknown[]) => told.push(line) });
  const arrived = await db.transaction(async (tx) => {
    await tx.run(sql`DELETE FROM projects WHERE id = ${teamId}`);
    const stored = store(teamId, { log: heard });
    await eventually(
      'the event does not wait for the deletion',
      async () => (await countWaiting(db)) > 0,
    );
    return { stored };
  });
  assert.deepEqual(await arrived.stored, { failure: 'project_gone' });
  assert.deepEqual(told, []);
});

for (const call of ['query', 'exec'] as const)
  test(`a project that is deleted at the ${call} of a batch is gone, and no fault`, async () => {
    const teamId = await newTeam();
    assert.deepEqual(await store(teamId), { taken: 1, duplicates: 0, refused: 0 });
    const through: ClickHouse = Object.assign(Object.create(clickhouse) as ClickHouse, {
      [call]: async (given: never) => {
        const done = await clickhouse[call](given);
        await db.run(sql`DELETE FROM projects WHERE id = ${teamId}`);
        return done;
      },
    });
    assert.deepEqual(await store(teamId, { through, set: { a: 1 } }), { failure: 'project_gone' });
    assert.equal((await insertions(teamId)).length, 1);
  });

test('a batch of unknown fate holds back after its time too, until it is resolved', async () => {
  const [over, running, busy] = [await newTeam(), await newTeam(), await newTeam()];
  const at = inMinutes(-10);
  for (const left of [note(over, at, null, -1), note(running, at), note(busy, at, null, -1)])
    assert.equal(await noteBatch(db, left), 'noted');
  assert.equal(Date.parse(await promise(over)), Date.parse(at));
  await db.transaction(async (tx) => {
    await lockForWriting(tx, busy);
    const warn = () => assert.fail('who has the lock settles it');
    await resolveBatches(db, clickhouse, Object.assign(silentLog(), { warn }));
  });
  assert.ok(Date.parse(await promise(over)) > Date.parse(at));
  for (const teamId of [running, busy])
    assert.equal(Date.parse(await promise(teamId)), Date.parse(at));
  await resolveBatches(db, clickhouse, log);
  assert.ok(Date.parse(await promise(busy)) > Date.parse(at));
  assert.equal((await readState(db, running)).batch_id === null, false);
});

test('a store that does not answer leaves a batch of unknown fate unchanged', async () => {
  const teamId = await newTeam();
  const at = inMinutes(-10);
  const left = note(teamId, at, null, -1);
  await noteBatch(db, left);
  const away = openClickHouse('http://127.0.0.1:9', { application: 'test' });
  await resolveBatches(db, away, log);
  await away.close();
  assert.equal(Date.parse(await promise(teamId)), Date.parse(at));
  await db.transaction(async (tx) => {
    await clearBatch(tx, teamId, left.batch_id);
    const waits = await tx.row(sql`SHOW synchronous_commit`);
    assert.deepEqual(waits, { synchronous_commit: 'off' });
  });
});

test('a duplicate alone settles the batch that somebody left', async () => {
  const teamId = await newTeam();
  const uuid = randomUUID();
  await store(teamId, { uuid });
  await noteBatch(db, note(teamId, inMinutes(1), (await readState(db, teamId)).last_inserted_at));
  assert.deepEqual(await store(teamId, { uuid }), { taken: 0, duplicates: 1, refused: 0 });
  assert.equal((await readState(db, teamId)).batch_id, null);
});

test('a look-up that is not answered ends the batch, and its lock', async () => {
  const teamId = await newTeam();
  // One never answers, the other begins to.
  for (const begin of [false, true]) {
    const silent = await listen(
      createServer((_request, response) =>
        begin ? response.writeHead(200).write('{') : undefined,
      ),
    );
    const through = openClickHouse(urlOf(silent), { application: 'test' });
    assert.deepEqual(await store(teamId, { through, seconds: 0.2 }), { failure: 'unavailable' });
    silent.closeAllConnections();
    silent.close();
    await through.close();
  }
  assert.deepEqual(await store(teamId), { taken: 1, duplicates: 0, refused: 0 });
});

test('a writer whose session ended while it looked up writes nothing', async () => {
  const teamId = await newTeam();
  await storeAndLose(teamId, 'SELECT uuid FROM events');
  assert.deepEqual(await insertions(teamId), []);
  assert.equal((await readState(db, teamId)).batch_id, null);
  assert.deepEqual(await store(teamId), { taken: 1, duplicates: 0, refused: 0 });
});

test('a writer whose session ended after the note sends nothing', async () => {
  const teamId = await newTeam();
  const promised = await storeAndLose(teamId, 'INSERT INTO persons');
  assert.deepEqual(await insertions(teamId), []);
  assert.equal(promised, (await readState(db, teamId)).last_inserted_at);
  const other = await newTeam();
  const until = Date.parse(await storeAndLose(other, 'INSERT INTO events'));
  for (const at of await insertions(other)) assert.ok(at >= until);
});

/**
 * Stores an event through a proxy that, before it passes the statement on, ends the session that
 * holds the project's lock; gives what a planner is promised then.
 */
async function storeAndLose(teamId: number, statement: string): Promise<string> {
  const promised: string[] = [];
  const proxy = await openProxy(async (sent) => {
    if (!sent.includes(statement) || promised.length > 0) return;
    await db.rows(sql`
      SELECT pg_terminate_backend(pid) FROM pg_locks
      WHERE locktype = 'advisory' AND objid = ${teamId} AND granted AND database = (SELECT oid
        FROM pg_database WHERE datname = current_database())`);
    promised.push(await promise(teamId));
  });
  const url = new URL(stores.clickhouse_url);
  url.port = String((proxy.address() as AddressInfo).port);
  url.hostname = '127.0.0.1';
  const through = openClickHouse(url.href, { application: 'test' });
  assert.deepEqual(await store(teamId, { through, set: { a: 1 } }), { failure: 'unavailable' });
  await through.close();
  proxy.close();
  assert.equal(promised.length, 1);
  return promised[0]!;
}

function openProxy(onStatement: (sent: string) => Promise<void>): Promise<Server> {
  const store_url = new URL(stores.clickhouse_url);
  return listen(
    createServer(async (incoming, response) => {
      const body = await buffer(incoming);
      const url = new URL(incoming.url!, store_url.origin);
      await onStatement(`${url.searchParams.get('query')} ${body.toString()}`);
      const onward = request(
        url,
        { method: incoming.method!, headers: incoming.headers },
        (answer) => {
          response.writeHead(answer.statusCode!, answer.headers);
          answer.pipe(response);
        },
      );
      onward.end(body);
    }),
  );
}
