import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import {
  deps,
  freshConfig,
  onMariaDb,
  plain,
} from '../../../../test/destinations/mysql_contract_world.ts';
import { startSshServer } from '../../../../test/servers/ssh_server.ts';
import { mysql } from './mysql.ts';
import type { MySqlConfig } from './config.ts';

onMariaDb(() => {
  test('rows go through a tunnel, whose faults are named', async (t) => {
    const ssh = await startSshServer();
    t.after(() => ssh.close());
    ssh.hosts['db.internal'] = '127.0.0.1';
    const config: MySqlConfig = {
      ...(await freshConfig()),
      host: 'db.internal',
      ssh_host: '127.0.0.1',
      ssh_port: ssh.port,
      ssh_user: ssh.user,
      ssh_private_key: ssh.private_key,
      ssh_private_key_passphrase: ssh.passphrase,
      ssh_host_key: ssh.fingerprint,
    };
    const failureOf = async (changes: Partial<MySqlConfig>): Promise<string> => {
      const steps = await mysql.check({ ...config, ...changes }, contractColumns, deps);
      return steps.find(({ status }) => status === 'failed')?.detail ?? '';
    };
    // The test writes a row, reads it back and removes it.
    assert.equal(await failureOf({}), '');
    assert.equal(await failureOf({ port: plain.port, require_tls: false }), '');
    assert.deepEqual(
      [...new Set(ssh.asked.map((target) => target.split(':')[0]))],
      ['db.internal'],
    );
    assert.match(await failureOf({ port: plain.port }), /offers no TLS/);
    assert.match(await failureOf({ has_self_signed_cert: false }), /certificate/);
    assert.match(await failureOf({ ssh_user: 'nobody' }), /^The SSH server refused the user/);
    assert.match(await failureOf({ ssh_host_key: null }), /shows the host key SHA256:/);
    assert.match(await failureOf({ ssh_host: '10.0.0.1' }), /not globally reachable/);
    ssh.forwards = 'none';
    assert.match(await failureOf({}), /^The SSH server does not/);
  });
});
