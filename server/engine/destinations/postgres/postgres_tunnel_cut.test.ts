import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { eventually } from '../../../../test/eventually.ts';
import { isPassing, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import {
  openPostgresServer,
  outcomeOf,
  uuidDelivery,
} from '../../../../test/servers/databases/postgres_destination.ts';
import { startSshServer } from '../../../../test/servers/ssh_server.ts';
import type { SshServer } from '../../../../test/servers/ssh_server.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import { postgres } from './postgres.ts';

const database = aroundTests(openPostgresServer);

const throughTunnel = (ssh: SshServer) =>
  database.freshConfig({
    ssh_host: '127.0.0.1',
    ssh_port: ssh.port,
    ssh_user: ssh.user,
    ssh_password: ssh.password,
    ssh_host_key: ssh.fingerprint,
  });

const rowsIn = async (schema: string): Promise<string[]> =>
  (await database.pool.query<{ uuid: string }>(`SELECT uuid FROM ${schema}.events`)).rows.map(
    ({ uuid }) => uuid,
  );

const asleep = async (statement: string): Promise<boolean> =>
  (
    await database.pool.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE $1",
      [`${statement}%`],
    )
  ).rowCount === 1;

test('a tunnel that breaks while rows travel ends the attempt alone', async (t) => {
  const ssh = await startSshServer();
  t.after(() => ssh.close());
  const config = await throughTunnel(ssh);
  const given = uuidDelivery();
  const sink = await postgres.open(config, given, database.deps);
  const halfway = Promise.withResolvers<void>();
  const rows = Readable.from(
    (async function* () {
      yield Buffer.from('abc\n');
      await halfway.promise;
      yield Buffer.from('def\n');
    })(),
  );
  const writing = assert.rejects(
    sink.write({ number: 0, records: 2, is_last: true }, rows),
    isPassing('ssh_failed'),
  );
  await eventually('nobody copies', async () => {
    const { rowCount } = await database.pool.query(
      "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'",
    );
    return rowCount === 1;
  });
  ssh.cut();
  await writing;
  halfway.resolve();
  await sink.close();
  const next = await postgres.open(config, given, database.deps);
  await next.recover([]);
  await next.write({ number: 0, records: 1, is_last: true }, Readable.from([Buffer.from('abc\n')]));
  await next.commit([outcomeOf(0, 'abc\n')], manifest);
  await next.close();
  assert.deepEqual(await rowsIn(config.schema), ['abc']);
});

test('a tunnel that breaks during the commit leaves it in doubt', async (t) => {
  const ssh = await startSshServer();
  t.after(() => ssh.close());
  const config = await throughTunnel(ssh);
  await database.pool.query(`CREATE TABLE ${config.schema}.events (uuid text);
    CREATE FUNCTION ${config.schema}.sleep() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(1); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER sleep AFTER INSERT ON ${config.schema}.events
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${config.schema}.sleep()`);
  const given = uuidDelivery();
  const sink = await postgres.open(config, given, database.deps);
  await sink.recover([]);
  await sink.write({ number: 0, records: 1, is_last: true }, Readable.from([Buffer.from('abc\n')]));
  const committing = assert.rejects(
    sink.commit([outcomeOf(0, 'abc\n')], manifest),
    (error) => error instanceof RetryableError && error.code === 'ssh_failed' && !error.is_certain,
  );
  await eventually('nobody commits', () => asleep('COMMIT'));
  ssh.cut();
  await committing;
  await sink.close();
  await eventually('the commit is lost', async () => (await rowsIn(config.schema)).length === 1);
  const next = await postgres.open(config, given, database.deps);
  assert.equal(await next.isCommitted(), true);
  await next.close();
  assert.deepEqual(await rowsIn(config.schema), ['abc']);
});
