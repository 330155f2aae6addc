import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import {
  damageIn,
  readContractRows,
  tablesIn,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import {
  deps,
  freshConfig,
  inSchema,
  openAroundTests,
  plain,
  pool,
} from '../../../../test/destinations/postgres_world.ts';
import { startSshServer } from '../../../../test/servers/ssh_server.ts';
import type { SshServer } from '../../../../test/servers/ssh_server.ts';
import { postgres } from './postgres.ts';
import type { PostgresConfig } from './config.ts';

const opened = openAroundTests();
let server: SshServer;

before(async () => {
  server = await startSshServer();
  server.hosts['db.internal'] = '127.0.0.1';
});

after(() => server.close());

const tunnel = (): Partial<PostgresConfig> => ({
  host: 'db.internal',
  ssh_host: '127.0.0.1',
  ssh_port: server.port,
  ssh_user: server.user,
  ssh_private_key: server.private_key,
  ssh_private_key_passphrase: server.passphrase,
  ssh_host_key: server.fingerprint,
});

const word = {
  ssh_private_key: null,
  ssh_private_key_passphrase: null,
  ssh_password: 'pl4nted-wrong-word',
};

const configure = async (): Promise<PostgresConfig> => ({ ...(await freshConfig()), ...tunnel() });

const tables = (config: Config) => tablesIn(pool, config['schema']);

testDestination({
  definition: postgres,
  start: () => opened().then(() => deps),
  stop: async () => undefined,
  configure,
  readBack: async (config) =>
    (await tables(config)).includes('events') ? readContractRows(pool, inSchema(config)) : [],
  leftovers: async (config) =>
    (await tables(config)).filter((name) => !['events', 'sluice_receipts'].includes(name)),
  misconfigure: async () => [
    { name: 'TLS is not offered', change: { port: plain.port }, code: 'tls_not_offered' },
    { name: 'no host key', change: { ssh_host_key: null }, code: 'ssh_refused' },
    {
      name: 'another host key',
      change: { ssh_host_key: `SHA256:${'A'.repeat(43)}` },
      code: 'ssh_refused',
    },
    { name: 'another user', change: { ssh_user: 'nobody' }, code: 'ssh_refused' },
    { name: 'another password', change: word, code: 'ssh_refused' },
    {
      name: 'a wrong passphrase',
      change: { ssh_private_key_passphrase: 'another-phrase' },
      code: 'ssh_refused',
    },
  ],
  invalid: [
    { name: 'SSH host with a port', change: { ssh_host: 'bastion.example.com:22' } },
    { name: 'no SSH user', change: { ssh_user: '' } },
    { name: 'neither key nor password', change: { ssh_private_key: null } },
    { name: 'no private key', change: { ssh_private_key: 'ssh-ed25519 AAAA' } },
    { name: 'no passphrase', change: { ssh_private_key_passphrase: null } },
    { name: 'another kind of fingerprint', change: { ssh_host_key: 'MD5:aa:bb' } },
  ],
  damage: damageIn(
    () => pool,
    (config) => inSchema(config),
  ),
  has_nul: false,
  numbers_by_value: true,
  recovers: true,
});

const failureOf = async (changes: Partial<PostgresConfig>): Promise<string> => {
  const steps = await postgres.check({ ...(await configure()), ...changes }, contractColumns, deps);
  return steps.find(({ status }) => status === 'failed')?.detail ?? '';
};

test('a server with an unknown key gets no secret, and its fingerprint is shown', async () => {
  await opened();
  server.tried = [];
  const unknown = await failureOf({ ssh_host_key: null });
  assert.ok(unknown.includes(`shows the host key ${server.fingerprint}.`), unknown);
  assert.match(unknown, /set ssh_host_key to it\.$/);
  const other = await failureOf({ ssh_host_key: `SHA256:${'A'.repeat(43)}` });
  assert.ok(other.includes(`${server.fingerprint}, which is not the one of ssh_host_key`), other);
  assert.deepEqual(server.tried, []);
});

test('the refusal of the SSH server is shown', async () => {
  await opened();
  assert.match(await failureOf({ ssh_user: 'nobody' }), /refused the user\. Check .*ssh_user/);
  assert.match(await failureOf(word), /refused the user\. Check .*ssh_password/);
  server.forwards = 'none';
  assert.match(await failureOf({}), /does not (reach|let this user)/);
  server.forwards = 'all';
  assert.match(await failureOf({ port: 1 }), /does not (reach|let this user)/);
  assert.match(await failureOf({ ssh_port: plain.port }), /before the handshake of SSH/);
  assert.match(await failureOf({ ssh_port: 1 }), /^The SSH server does not answer/);
});

test('a password opens the tunnel, also where the server asks for it', async (t) => {
  await opened();
  const asking = await startSshServer({ is_asking: true });
  t.after(() => asking.close());
  asking.hosts = server.hosts;
  for (const one of [server, asking])
    assert.equal(
      await failureOf({
        ssh_port: one.port,
        ...word,
        ssh_password: one.password,
      }),
      '',
    );
});
