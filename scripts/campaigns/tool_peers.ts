/**
 * Sends events by tools that have clients of their own to the real thing: Apache Kafka, OpenSSH,
 * and S3 and Kinesis as moto plays them: npm run tool_peers [-- --only Kafka]. Each is read back,
 * and so is what the trace of the tool says. Kafka also gets 1,500 events in batches by the cursor
 * of a whole deployment, beside a webhook, with both workers killed in between. A peer that is not
 * installed is skipped with its reason. Exit code 1 if an event is missing.
 */
import '../require_node.mjs';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../server/platform/clock.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import { openSandbox } from '../../server/engine/plugins/sandbox/sandbox.ts';
import { toolProgram } from '../../server/engine/plugins/sandbox/tool_program.ts';
import { toolCode } from '../../server/engine/plugins/tools/tool.ts';
import { emptyRecord, platformInMemory } from '../../test/factories/plugins/plugin_sandbox.ts';
import { eventually } from '../../test/eventually.ts';
import { until } from '../../test/processes/server_process.ts';
import { without_moto } from '../../test/servers/moto.ts';
import { startKafka, whyNoKafka } from '../../test/tool_peers/kafka.ts';
import { startSshd, whyNoSshd } from '../../test/tool_peers/sshd.ts';
import { readOptions } from '../options.ts';
import { playCursor } from './tool_peers/cursor.ts';
import { playAws } from './tool_peers/aws.ts';
import { requireSent, requireTraced } from './tool_peers/sending.ts';
import type { Sending } from './tool_peers/sending.ts';

const outbound = openOutbound({ allow: ['127.0.0.1'] });
const sandbox = await openSandbox({
  outbound,
  log: silentLog(),
  clock: systemClock,
  public_url: 'http://127.0.0.1',
});
const library = sandbox.toolLibrary();
if (library === undefined) throw new Error('The package of tools is not installed.');

/** Sends an event by a mapping of the tool; returns its outcome as text. */
async function send(
  directory: string,
  { settings, action, mapping }: Sending,
  variables: Record<string, string> = {},
): Promise<string> {
  const tool = await sandbox.load({
    id: directory,
    code: toolCode(directory),
    config: {},
    allowed_hosts: ['127.0.0.1', '*.127.0.0.1'],
    host: platformInMemory(emptyRecord()),
    process: {
      name: directory,
      program: () => toolProgram({ ...library!, variables }, Object.keys(variables)),
      opens_sockets: true,
    },
  });
  const event = {
    type: 'track',
    event: 'Order Completed',
    messageId: '0190163d-8694-739b-aea5-966c26f8ad91',
    userId: 'ada',
    timestamp: new Date().toISOString(),
    properties: { order_id: 'o-4711', total: 39.5 },
    context: {},
  };
  const subscription = { partnerAction: action, subscribe: 'type = "track"', mapping };
  const outcome = await tool
    .call('send', { event, settings, mapping: subscription }, AbortSignal.timeout(60_000))
    .catch((error: Error) => error.message);
  await tool.close();
  return JSON.stringify(outcome);
}

const { only } = readOptions({ only: '' });
let faults = 0;

/** Runs one peer, and prints the result. */
async function play(name: string, why: string | false | undefined, run: () => Promise<string>) {
  if (only !== '' && only !== name) return;
  if (typeof why === 'string') return console.log(`${name}: skipped. ${why}`);
  try {
    console.log(`${name}: ${await run()}`);
  } catch (error) {
    faults += 1;
    console.log(`${name}: FAILED. ${(error as Error).message}`);
  }
}

await play('Kafka', await whyNoKafka(), async () => {
  const kafka = await startKafka();
  try {
    const settings = {
      clientId: 'sluice',
      brokers: kafka.broker,
      // The listener that asks for no password if TLS is off.
      mechanism: 'client-cert-auth',
      ssl_key: 'none',
      ssl_cert: 'none',
      ssl_enabled: false,
    };
    const sending = {
      settings,
      action: 'send',
      mapping: {
        topic: 'orders',
        payload: { '@path': '$.properties' },
        key: { '@path': '$.userId' },
      },
    };
    // The first request for the topic creates it once the broker has started.
    const outcome = await until('Kafka takes the event', 240_000, 1_000, async () => {
      const given = await send('kafka', sending);
      return /ECONNREFUSED|does not host/.test(given) ? undefined : given;
    });
    requireSent(outcome);
    requireTraced(
      outcome,
      /^kafka:\/\/127\.0\.0\.1:\d+\/orders$/,
      /"partition":0.*"baseOffset":"0"/,
    );
    if (!kafka.kept('orders').includes('o-4711'))
      throw new Error('The topic does not have the event.');
    console.log('Kafka: the broker keeps the event in its log, and the trace its offset');
    return await playCursor(kafka, { ...settings, ssl_enabled: 'false' });
  } finally {
    await kafka.close();
  }
});

await play('SFTP', whyNoSshd(), async () => {
  const sshd = await startSshd();
  try {
    const sending = {
      settings: {
        auth_type: 'ssh_key',
        sftp_host: '127.0.0.1',
        sftp_port: sshd.port,
        sftp_username: sshd.user,
        sftp_ssh_key: sshd.private_key,
      },
      action: 'syncEvents',
      mapping: {
        columns: { event: { '@path': '$.event' }, order: { '@path': '$.properties.order_id' } },
        filename_prefix: 'orders_',
        file_extension: 'csv',
        delimiter: ',',
        sftp_folder_path: sshd.inbox,
        enable_batching: true,
        batch_size: 10,
      },
    };
    const outcome = await eventually('sshd takes no file.', async () => {
      const given = await send('sftp', sending);
      return given.includes('ECONNREFUSED') ? undefined : given;
    });
    requireSent(outcome);
    requireTraced(outcome, /^sftp:\/\/127\.0\.0\.1:\d+\/.*orders_.*\.csv$/, /"bytes_written":\d+/);
    const [file] = readdirSync(sshd.inbox);
    const text = readFileSync(join(sshd.inbox, file!), 'utf8');
    if (!text.includes('o-4711')) throw new Error(`The file has not the event: ${text}`);
    return `OpenSSH's server has the file: ${text.split('\n')[1]}`;
  } finally {
    await sshd.close();
  }
});

await play('AWS', without_moto, () => playAws(send));

await sandbox.close();
await outbound.close();
process.exitCode = faults === 0 ? 0 : 1;
