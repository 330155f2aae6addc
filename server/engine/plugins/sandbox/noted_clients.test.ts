import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  emptyRecord,
  platformInMemory,
} from '../../../../test/factories/plugins/plugin_sandbox.ts';
import { systemClock } from '../../../platform/clock.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { toolCode } from '../tools/tool.ts';
import { openSandbox } from './sandbox.ts';
import type { Sandbox } from './sandbox.ts';
import type { ToolOutcome } from './tool_outcome.ts';
import { toolProgram } from './tool_program.ts';

let sandbox: Sandbox;
const outbound = openOutbound({ allow: ['127.0.0.1'] });
before(async () => {
  const log = silentLog();
  const public_url = 'http://127.0.0.1';
  sandbox = await openSandbox({ outbound, log, clock: systemClock, public_url });
});
after(async () => {
  await sandbox.close();
  await outbound.close();
});

type Sending = { settings: object; action: string; mapping: object };

/** Sends an event by a tool of the library; gives its outcome. */
async function send(
  directory: string,
  { settings, action, mapping }: Sending,
): Promise<ToolOutcome> {
  const program = () => toolProgram(sandbox.toolLibrary()!);
  const tool = await sandbox.load({
    id: directory,
    code: toolCode(directory),
    config: {},
    allowed_hosts: ['127.0.0.1'],
    host: platformInMemory(emptyRecord()),
    process: { name: directory, program, opens_sockets: true },
  });
  const properties = { order_id: 'o-4711' };
  const event = {
    type: 'track',
    event: 'Order Completed',
    messageId: 'm',
    userId: 'ada',
    properties,
  };
  const subscription = { partnerAction: action, subscribe: 'type = "track"', mapping };
  const outcome = await tool.call(
    'send',
    { event, settings, mapping: subscription },
    AbortSignal.timeout(20_000),
  );
  await tool.close();
  return outcome as ToolOutcome;
}

type Answering = {
  status(id: number, code: number): void;
  handle(id: number, handle: Buffer): void;
  on(event: string, heard: (id: number, ...given: any[]) => void): Answering;
};

/** Opens an SSH server that takes files, or refuses to write them, and a password. */
async function openSsh(isFull: () => boolean) {
  const { node_modules } = sandbox.toolLibrary()!;
  const require = createRequire(join(node_modules, 'ssh2-sftp-client/package.json'));
  const { Server, utils } = require('ssh2');
  const { STATUS_CODE } = utils.sftp;
  const files = new Map<string, string>();
  const takeFiles = (sftp: Answering) => {
    let name = '';
    sftp
      .on('OPEN', (id, path: string) => {
        [name] = [path];
        files.set(name, '');
        sftp.handle(id, Buffer.from('file'));
      })
      .on('WRITE', (id, _handle, _at, bytes: Buffer) => {
        if (isFull()) return sftp.status(id, STATUS_CODE.FAILURE);
        files.set(name, files.get(name)! + bytes.toString());
        sftp.status(id, STATUS_CODE.OK);
      })
      .on('CLOSE', (id) => sftp.status(id, STATUS_CODE.OK))
      .on('FSETSTAT', (id) => sftp.status(id, STATUS_CODE.OK));
  };
  const hostKeys = [utils.generateKeyPairSync('ed25519').private];
  const server = new Server({ hostKeys }, (client: any) => {
    client.on('error', () => {});
    client.on('authentication', (asked: any) =>
      asked.password === 'secret-of-ada' ? asked.accept() : asked.reject(['password']),
    );
    client.on('ready', () =>
      client.on('session', (accept: () => any) =>
        accept().on('sftp', (open: () => Answering) => takeFiles(open())),
      ),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, files, close: () => server.close() };
}

const sftpSending = (port: number, settings: object = {}): Sending => ({
  settings: {
    auth_type: 'password',
    sftp_host: '127.0.0.1',
    sftp_port: port,
    sftp_username: 'ada',
    sftp_password: 'secret-of-ada',
    ...settings,
  },
  action: 'syncEvents',
  mapping: {
    columns: { event: { '@path': '$.event' }, order: { '@path': '$.properties.order_id' } },
    filename_prefix: 'orders_',
    file_extension: 'csv',
    delimiter: ',',
    sftp_folder_path: '/inbox',
    enable_batching: true,
    batch_size: 10,
  },
});

test('The trace of SFTP has the file, the bytes that were written, and why not', async () => {
  let is_full = false;
  const ssh = await openSsh(() => is_full);
  for (const uploadStrategy of ['standard', 'concurrent']) {
    const sent = await send('sftp', sftpSending(ssh.port, { uploadStrategy }));
    assert.equal(sent.kind, 'sent', JSON.stringify(sent));
    const [[path, text]] = [...ssh.files] as [[string, string]];
    const body = { text, size_bytes: text.length };
    const url = `sftp://127.0.0.1:${ssh.port}${path}`;
    const said = JSON.stringify({ bytes_written: text.length });
    assert.match(text, /"o-4711"/);
    assert.deepEqual(sent.exchanges, [
      {
        request: { method: 'PUT', url, header_fields: [], body },
        answer: { status: null, header_fields: [], body: { text: said, size_bytes: said.length } },
        error: null,
      },
    ]);
    ssh.files.clear();
  }
  is_full = true;
  const failed = await send('sftp', sftpSending(ssh.port));
  const [put] = failed.exchanges!;
  assert.deepEqual([failed.kind, put!.request.method, put!.answer], ['retry', 'PUT', null]);
  assert.match(put!.error!, /Failure/);
  const wrong = { sftp_password: 'secret-of-nobody' };
  const refused = await send('sftp', sftpSending(ssh.port, wrong));
  const [connect] = refused.exchanges!;
  assert.equal(connect!.request.url, `sftp://127.0.0.1:${ssh.port}/`);
  assert.deepEqual([connect!.request.method, connect!.answer], ['CONNECT', null]);
  assert.match(connect!.error!, /authentication methods failed/);
  ssh.close();
});

test('The trace of Kafka has the brokers, and why none of them answered', async () => {
  const outcome = await send('kafka', {
    settings: {
      clientId: 'sluice',
      brokers: '127.0.0.1:9,127.0.0.1:10',
      mechanism: 'plain',
      username: 'ada',
      password: 'secret-of-ada',
      ssl_enabled: false,
    },
    action: 'send',
    mapping: { topic: 'orders', payload: { '@path': '$.properties' } },
  });
  const [one] = outcome.exchanges!;
  assert.equal(outcome.kind, 'retry');
  assert.deepEqual(
    [one!.request.method, one!.request.url, one!.answer],
    ['CONNECT', 'kafka://127.0.0.1:9,127.0.0.1:10/', null],
  );
  assert.match(one!.error!, /ECONNREFUSED/);
  assert.doesNotMatch(JSON.stringify(outcome), /secret-of-ada/);
});
