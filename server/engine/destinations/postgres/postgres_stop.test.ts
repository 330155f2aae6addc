import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { openTestStores } from '../../../../test/harness_stores.ts';
import type { TestStores } from '../../../../test/harness_stores.ts';
import { openPostgresProxy } from '../../../../test/postgres_proxy.ts';
import type { PostgresProxy } from '../../../../test/postgres_proxy.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound.ts';
import { RetryableError } from '../../destination.ts';
import type { Delivery, Sink, SliceOutcome } from '../../destination.ts';
import type { PostgresConfig } from './config.ts';
import { postgres } from './postgres.ts';

const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const deps = { log: silentLog(), outbound, export_dir: '/nowhere', signal: new AbortController().signal };
let stores: TestStores;
let pool: pg.Pool;
let proxy: PostgresProxy;
let socketPath: string;
let base: PostgresConfig;
let schemas = 0;

before(async () => {
  stores = await openTestStores({ clickhouse: false });
  pool = new pg.Pool({ connectionString: stores.database_url, max: 2 });
  const url = new URL(stores.database_url.replace('@/', '@host/'));
  socketPath = `${url.searchParams.get('host')}/.s.PGSQL.${url.searchParams.get('port') ?? '5432'}`;
  proxy = await openPostgresProxy(socketPath, { tls: true });
  base = { user: url.username, password: url.password, host: '127.0.0.1', port: proxy.port, database: url.pathname.slice(1), has_self_signed_cert: true };
});

after(async () => {
  await pool.end();
  await proxy.close();
  await outbound.close();
  await stores.close();
});

async function freshConfig(): Promise<PostgresConfig> {
  const schema = `place_${(schemas += 1)}`;
  await pool.query(`CREATE SCHEMA ${schema}`);
  return { ...base, schema };
}

function delivery(): Delivery {
  const run_id = randomUUID();
  return {
    delivery_id: run_id,
    run_id,
    attempt: 1,
    batch_export_id: randomUUID(),
    team_id: 7,
    model: 'events',
    data_interval_start: '2015-09-12T00:00:00Z',
    data_interval_end: '2015-09-12T01:00:00Z',
    columns: [{ name: 'uuid', type: 'uuid', nullable: false, expression: 'uuid' }],
  };
}

const outcomeOf = (records: number): SliceOutcome => ({ number: 0, name: 'x', records, bytes: 0, sha256: '', state: null });

test('a server that hangs is left at once when the run is stopped', async () => {
  const given = delivery();
  const row = () => Readable.from([Buffer.from('abc\n')]);
  const waits: [string, (sink: Sink) => Promise<unknown>][] = [
    ['recover', (sink) => sink.recover([])],
    ['write', (sink) => sink.write({ number: 0, records: 1 }, row())],
    ['commit', (sink) => sink.commit([outcomeOf(1)], { name: 'manifest', text: '{}' })],
    ['abort', (sink) => sink.abort([])],
  ];
  for (const [name, wait] of waits) {
    const hanging = await openPostgresProxy(socketPath, { tls: true });
    const config = { ...(await freshConfig()), port: hanging.port };
    const stop = new AbortController();
    const sink = await postgres.open(config, given, { ...deps, signal: stop.signal });
    hanging.hold();
    const waiting = assert.rejects(wait(sink), /stopped/, name);
    stop.abort('cancelled');
    await waiting;
    await sink.close();
    await assert.rejects(postgres.open(config, given, { ...deps, signal: stop.signal }), /stopped/);
    await assert.rejects(
      postgres.open(config, given, { ...deps, signal: AbortSignal.timeout(100) }),
      (error) => error instanceof RetryableError && error.code === 'timed_out',
    );
    await hanging.close();
  }
});

test('a table that another session holds is waited for before any row is read, and the wait can be stopped', async () => {
  const config = await freshConfig();
  await pool.query(`CREATE TABLE ${config.schema}.events (uuid text)`);
  const other = await pool.connect();
  await other.query('BEGIN');
  await other.query(`LOCK TABLE ${config.schema}.events IN ACCESS EXCLUSIVE MODE`);
  const stop = new AbortController();
  const sink = await postgres.open(config, delivery(), { ...deps, signal: stop.signal });
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
