import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import http from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { isPassing } from '../../../../test/factories/batch_exports/deliveries.ts';
import { is_deep } from '../../../../test/depth.ts';
import { writeSlice } from '../../../../test/processes/killed_delivery.ts';
import type { Sink } from '../../model/destination/destination.ts';
import { SnowflakeFault } from './client.ts';
import { snowflakeError } from './faults.ts';
import { openTunnel } from './tunnel.ts';
import {
  openAroundTests,
  outbound,
  server,
  pool,
  config,
  delivery,
  open,
  write,
  manifest,
  commit,
  deliver,
  count,
  refusal,
} from '../../../../test/destinations/snowflake_faults_world.ts';

openAroundTests();

test('a stop ends a delivery anywhere; the next attempt finds a lost commit', async () => {
  const given = delivery();
  for (const subject of ['LOGIN', ...(is_deep ? ['UPLOAD', '^COPY'] : []), '^COMMIT']) {
    const controller = new AbortController();
    server.fail(new RegExp(subject), 'hang');
    const attempt = (async () => {
      const sink = await open(given, controller.signal);
      await write(sink)
        .then(() => commit(sink))
        .finally(() => sink.close());
    })();
    attempt.catch(() => undefined);
    while (!server.isHanging()) await new Promise((resolve) => setTimeout(resolve, 10));
    controller.abort();
    await assert.rejects(attempt, /The work was stopped/, subject);
    // Signed out all the same, so nothing is locked any more.
    if (subject !== 'LOGIN') assert.equal(server.sessions(), 0, subject);
    server.recover();
  }
  const controller = new AbortController();
  const sink = await open(given, controller.signal);
  assert.equal(await sink.isCommitted(), false);
  await write(sink);
  server.fail(/^COMMIT/, 'after', 100);
  const attempt = commit(sink);
  attempt.catch(() => undefined);
  while ((await count('events')) === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  controller.abort();
  await assert.rejects(attempt);
  await sink.close();
  server.recover();
  const next = await open(given);
  assert.equal(await next.isCommitted(), true);
  await next.close();
  assert.deepEqual([await count('events'), await count('sluice_receipts')], [1, 1]);
});

test('an attempt believed dead cannot show anything after a newer one began', async () => {
  const given = delivery();
  const old = await open(given);
  await write(old);
  const newer = await open(given);
  await write(newer);
  await assert.rejects(commit(old), isPassing('conflict'));
  assert.equal(await count('events'), 0);
  await commit(newer);
  await assert.rejects(commit(old), isPassing('conflict'));
  assert.deepEqual([await count('events'), await count('sluice_receipts')], [1, 1]);
  await old.close();
  await newer.close();
});

test('two concurrent commits show the rows once, in threads of earlier ones', async (context) => {
  const started = context.mock.fn();
  subscribe('worker_threads', started);
  context.after(() => unsubscribe('worker_threads', started));
  const given = delivery();
  const sinks = [await open(given), await open(given)];
  for (const sink of sinks) await write(sink);
  await Promise.allSettled(sinks.map(commit));
  assert.deepEqual([await count('events'), await count('sluice_receipts')], [1, 1]);
  for (const sink of sinks) await sink.close();
  assert.equal(started.mock.callCount(), 0);
});

const writeOne = (sink: Sink, number: number) => writeSlice(sink, number, `note ${number}\n`);

async function stages(): Promise<string[]> {
  const found = await pool.query<{ name: string }>(
    'SELECT table_name AS name FROM information_schema.tables ' +
      "WHERE table_name LIKE 'sluice_stage%'",
  );
  return found.rows.map(({ name }) => name);
}

test('an attempt whose stage was taken over adds nothing, and no stage stays', async () => {
  // The contract also covers that an abort leaves none.
  for (const end of is_deep ? (['commit', 'abort'] as const) : (['commit'] as const)) {
    const given = delivery();
    const dead = await open(given);
    const first = await writeOne(dead, 0);
    const next = await open(given);
    assert.deepEqual(await next.recover([first]), [first]);
    await assert.rejects(writeOne(dead, 1), isPassing('slice_lost'));
    const before = await count('events');
    await (end === 'commit'
      ? next.commit([first, await writeOne(next, 1)], manifest)
      : next.abort([first]));
    await next.close();
    await assert.rejects(writeOne(dead, 1), isPassing('slice_lost'));
    await dead.close();
    assert.equal((await count('events')) - before, end === 'commit' ? 2 : 0);
    assert.deepEqual(await stages(), [], end);
  }
});

test('an attempt that loses its session in the third of five slices repeats that one', async () => {
  const given = delivery();
  const dead = await open(given);
  await dead.recover([]);
  const known = [await writeOne(dead, 0), await writeOne(dead, 1)];
  server.fail(/^COPY/, 'hang');
  const third = assert.rejects(writeOne(dead, 2));
  while (!server.isHanging()) await new Promise((resolve) => setTimeout(resolve, 10));
  await server.endSessions();
  server.recover();
  await dead.close();
  await third;
  assert.equal(await count('events'), 0);
  const next = await open(given);
  assert.deepEqual(await next.recover(known), known);
  const all = [...known, await writeOne(next, 2), await writeOne(next, 3), await writeOne(next, 4)];
  assert.equal(await count('events'), 0);
  await next.commit(all, manifest);
  await next.close();
  const found = await pool.query<{ note: string }>(
    `SELECT note FROM "${config.schema}".events ORDER BY 1`,
  );
  assert.deepEqual(
    found.rows.map(({ note }) => note),
    [0, 1, 2, 3, 4].map((number) => `note ${number}`),
  );
  assert.deepEqual(await stages(), []);
});

test('a role without CREATE stages in the session, the newest persons count', async () => {
  await deliver(delivery());
  server.fail(
    /^CREATE TRANSIENT TABLE/,
    refusal('003001', '42501', "Insufficient privileges to operate on schema 'S'"),
    2,
  );
  const sink = await open(delivery());
  const outcomes = [await writeOne(sink, 0), await writeOne(sink, 1)];
  assert.deepEqual(await stages(), []);
  await sink.commit(outcomes, manifest);
  await sink.close();
  assert.equal(await count('events'), 3);
  server.recover();
  const column = (name: string, type: 'integer' | 'text') => ({
    name,
    type,
    nullable: false,
    expression: name,
  });
  const columns = [
    column('team_id', 'integer'),
    column('distinct_id', 'text'),
    column('sluice_write', 'text'),
    column('person_version', 'integer'),
  ];
  const persons = await open({ ...delivery(), model: 'persons', columns }, undefined, {
    table_name: 'persons',
  });
  await persons.commit(
    [
      await writeSlice(persons, 0, '7\ta\told\t1\n'),
      await writeSlice(persons, 1, '7\ta\tnew\t2\n'),
    ],
    manifest,
  );
  await persons.close();
  assert.deepEqual((await pool.query(`SELECT sluice_write FROM "${config.schema}".persons`)).rows, [
    { sluice_write: 'new' },
  ]);
});

test('the tunnel asks for its password, and goes nowhere that the guard refuses', async () => {
  const faults: Error[] = [];
  const tunnel = await openTunnel(outbound, (error) => faults.push(error));
  const ask = async (path: string, password: string): Promise<number | undefined> => {
    const auth = `Basic ${Buffer.from(`${tunnel.user}:${password}`).toString('base64')}`;
    const request = http
      .request({
        host: '127.0.0.1',
        port: tunnel.port,
        method: 'CONNECT',
        path,
        headers: { 'proxy-authorization': auth },
      })
      .end();
    const [response, socket] = (await once(request, 'connect')) as [http.IncomingMessage, Socket];
    socket.destroy();
    return response.statusCode;
  };
  assert.equal(await ask(server.host, 'another'), 407);
  assert.equal(await ask(server.host, tunnel.password), 200);
  assert.equal(await ask('169.254.169.254:80', tunnel.password), 502);
  assert.deepEqual(
    faults.map((fault) => (fault as NodeJS.ErrnoException).code),
    ['outbound_refused'],
  );
  await tunnel.close();
});

test('errors of others stay as they are, and tokens of a storage are not repeated', () => {
  const source = new Error('the query failed');
  assert.equal(snowflakeError(source), source);
  const upload = {
    code: 'upload_failed',
    sql_state: '',
    message: 'RestError: no https://a.blob/x?sig=secret',
  };
  assert.equal(
    (snowflakeError(new SnowflakeFault(upload)) as Error).message,
    'A file could not be uploaded to the stage of the account (RestError: no https://a.blob/x).',
  );
});
