import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { openPostgresServer, outcomeOf, uuidDelivery } from '../../../../test/postgres_destination.ts';
import type { PostgresServer } from '../../../../test/postgres_destination.ts';
import { openPostgresProxy } from '../../../../test/postgres_proxy.ts';
import { RetryableError } from '../../destination.ts';
import type { Sink } from '../../destination.ts';
import { postgres } from './postgres.ts';

let server: PostgresServer;

before(async () => {
  server = await openPostgresServer();
});
after(() => server.close());

test('a server that hangs is left at once when the run is stopped', async () => {
  const given = uuidDelivery();
  const row = () => Readable.from([Buffer.from('abc\n')]);
  const waits: [string, (sink: Sink) => Promise<unknown>][] = [
    ['recover', (sink) => sink.recover([])],
    ['write', (sink) => sink.write({ number: 0, records: 1 }, row())],
    ['commit', (sink) => sink.commit([outcomeOf(0, 'abc\n')], { name: 'manifest', text: '{}' })],
    ['abort', (sink) => sink.abort([])],
  ];
  for (const [name, wait] of waits) {
    const hanging = await openPostgresProxy(server.socket_path, { tls: true });
    const config = await server.freshConfig({ port: hanging.port });
    const stop = new AbortController();
    const sink = await postgres.open(config, given, { ...server.deps, signal: stop.signal });
    hanging.hold();
    const waiting = assert.rejects(wait(sink), /stopped/, name);
    stop.abort('cancelled');
    await waiting;
    await sink.close();
    await assert.rejects(postgres.open(config, given, { ...server.deps, signal: stop.signal }), /stopped/);
    await assert.rejects(
      postgres.open(config, given, { ...server.deps, signal: AbortSignal.timeout(100) }),
      (error) => error instanceof RetryableError && error.code === 'timed_out',
    );
    await hanging.close();
  }
});

test('a table that another session holds is waited for before any row is read, and the wait can be stopped', async () => {
  const config = await server.freshConfig();
  await server.pool.query(`CREATE TABLE ${config.schema}.events (uuid text)`);
  const other = await server.pool.connect();
  await other.query('BEGIN');
  await other.query(`LOCK TABLE ${config.schema}.events IN ACCESS EXCLUSIVE MODE`);
  const stop = new AbortController();
  const sink = await postgres.open(config, uuidDelivery(), { ...server.deps, signal: stop.signal });
  const waiting = assert.rejects(sink.recover([]), /stopped/);
  const waiters = async () => (await other.query("SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'RowExclusiveLock'")).rowCount;
  const end = performance.now() + 10_000;
  while ((await waiters()) === 0) assert.ok(performance.now() < end, 'nobody waits for the table');
  stop.abort('cancelled');
  await waiting;
  await sink.close();
  await other.query('ROLLBACK');
  other.release();
});
