import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { listenLocally } from '../../../../test/servers/loopback.ts';
import {
  emptyRecord,
  platformInMemory,
} from '../../../../test/factories/plugins/plugin_sandbox.ts';
import { systemClock } from '../../../platform/clock.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { toolCode } from '../tools/tool.ts';
import { openSandbox } from './sandbox.ts';
import type { LoadedPlugin, Sandbox } from './sandbox.ts';
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

/** Loads a tool of the library, with variables of the operator. */
function load(directory: string, variables: Record<string, string> = {}): Promise<LoadedPlugin> {
  const library = { ...sandbox.toolLibrary()!, variables };
  const program = () => toolProgram(library, Object.keys(variables));
  return sandbox.load({
    id: directory,
    code: toolCode(directory),
    config: {},
    allowed_hosts: ['127.0.0.1'],
    host: platformInMemory(emptyRecord()),
    process: { name: directory, program, opens_sockets: true },
  });
}

/** Sends an event by a tool; gives its outcome. */
async function send(
  directory: string,
  { settings, action, mapping }: Sending,
  variables: Record<string, string> = {},
): Promise<ToolOutcome> {
  const tool = await load(directory, variables);
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

const keys =
  '<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>key</AccessKeyId>' +
  '<SecretAccessKey>secret-of-aws</SecretAccessKey><SessionToken>token-of-aws</SessionToken>' +
  '<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult>' +
  '</AssumeRoleResponse>';
const refusal = (code: string) =>
  `<ErrorResponse><Error><Code>${code}</Code></Error></ErrorResponse>`;

/** Opens what gives keys, and takes files with an answer of this status. */
async function openAws(answer: () => { keys: number; file: number }) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isFile = request.method === 'PUT';
      const status = isFile ? answer().file : answer().keys;
      response.writeHead(status, { 'content-type': 'text/xml', 'x-amz-request-id': 'r-1' });
      response.end(status !== 200 ? refusal('AccessDenied') : isFile ? '' : keys);
    });
  });
  return listenLocally(server);
}

test('The trace of S3 has the file and its answer, and no key', async () => {
  const status = { keys: 200, file: 200 };
  const aws = await openAws(() => status);
  const address = `http://127.0.0.1:${aws.port}`;
  const variables = {
    AWS_ACCESS_KEY_ID: 'operator',
    AWS_SECRET_ACCESS_KEY: 'secret-of-operator',
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL: address,
    AMAZON_S3_ACTIONS_ROLE_ADDRESS: 'arn:aws:iam::123456789012:role/between',
    AMAZON_S3_ACTIONS_EXTERNAL_ID: 'id-of-operator',
  };
  const sending: Sending = {
    settings: {
      iam_role_arn: 'arn:aws:iam::123456789012:role/sluice',
      iam_external_id: 'x',
      s3_aws_bucket_name: 'orders',
      s3_aws_region: 'us-east-1',
    },
    action: 'syncToS3',
    mapping: {
      columns: { event: { '@path': '$.event' }, order: { '@path': '$.properties.order_id' } },
      filename_prefix: 'orders',
      file_extension: 'csv',
      delimiter: ',',
      enable_batching: true,
    },
  };
  // Another instance in the same process shares the client.
  const other = await load('s3', variables);
  for (let time = 0; time < 2; time += 1) {
    const sent = await send('s3', sending, variables);
    const [put, ...others] = sent.exchanges!;
    assert.deepEqual([sent.kind, others], ['sent', []]);
    assert.match(put!.request.url, new RegExp(`^${address}/orders/orders_.*\\.csv`));
    assert.match(put!.request.body!.text!, /"o-4711"/);
    assert.deepEqual([put!.request.method, put!.answer!.status, put!.error], ['PUT', 200, null]);
    assert.doesNotMatch(JSON.stringify(sent), /secret-of|id-of-operator|role\/between/);
  }
  status.file = 403;
  const denied = (await send('s3', sending, variables)).exchanges![0]!;
  assert.deepEqual([denied.request.method, denied.answer!.status], ['PUT', 403]);
  assert.match(denied.answer!.body.text!, /AccessDenied/);
  status.keys = 403;
  const unsent = await send('s3', sending, variables);
  const asked = unsent.exchanges![0]!;
  assert.deepEqual([asked.request.method, asked.request.body], ['POST', null]);
  assert.match(asked.answer!.body.text!, /AccessDenied/);
  await other.close();
  await aws.close();
});
