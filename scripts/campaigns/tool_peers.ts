/**
 * Sends events by tools that have clients of their own to the real thing: Apache Kafka, OpenSSH,
 * and S3, Kinesis and EventBridge as moto plays them: npm run tool_peers. Each reads back what it
 * got. What is not installed is skipped with its reason. Exit code 1 if an event is missing.
 */
import '../require_node.mjs';
import { createHmac } from 'node:crypto';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
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
import { startMoto, without_moto } from '../../test/servers/moto.ts';
import { startKafka, whyNoKafka } from '../../test/tool_peers/kafka.ts';
import { startSshd, whyNoSshd } from '../../test/tool_peers/sshd.ts';

const outbound = openOutbound({ allow: ['127.0.0.1'] });
const sandbox = await openSandbox({
  outbound,
  log: silentLog(),
  clock: systemClock,
  public_url: 'http://127.0.0.1',
});
const library = sandbox.toolLibrary();
if (library === undefined) throw new Error('The package of tools is not installed.');

type Sending = { settings: object; action: string; mapping: object };

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

let faults = 0;

/** Plays one peer; tells how it went. */
async function play(name: string, why: string | false | undefined, run: () => Promise<string>) {
  if (typeof why === 'string') return console.log(`${name}: skipped. ${why}`);
  try {
    console.log(`${name}: ${await run()}`);
  } catch (error) {
    faults += 1;
    console.log(`${name}: FAILED. ${(error as Error).message}`);
  }
}

function requireSent(outcome: string): void {
  if (!outcome.startsWith('{"kind":"sent"')) throw new Error(outcome);
}

await play('Kafka', await whyNoKafka(), async () => {
  const kafka = await startKafka('orders');
  try {
    const sending = {
      settings: {
        clientId: 'sluice',
        brokers: kafka.broker,
        // The one that asks for no password where TLS is off.
        mechanism: 'client-cert-auth',
        ssl_key: 'none',
        ssl_cert: 'none',
        ssl_enabled: false,
      },
      action: 'send',
      mapping: {
        topic: 'orders',
        payload: { '@path': '$.properties' },
        key: { '@path': '$.userId' },
      },
    };
    // The broker starts, and creates the topic at the first question for it.
    const outcome = await eventually('Kafka takes no event.', async () => {
      const given = await send('kafka', sending);
      return /ECONNREFUSED|does not host/.test(given) ? undefined : given;
    });
    requireSent(outcome);
    if (!kafka.kept().includes('o-4711')) throw new Error('The topic does not have the event.');
    return 'the broker of Apache Kafka 4.1.0 keeps the event in its log';
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
    requireSent(
      await eventually('sshd takes no file.', async () => {
        const outcome = await send('sftp', sending);
        return outcome.includes('ECONNREFUSED') ? undefined : outcome;
      }),
    );
    const [file] = readdirSync(sshd.inbox);
    const text = readFileSync(join(sshd.inbox, file!), 'utf8');
    if (!text.includes('o-4711')) throw new Error(`The file has not the event: ${text}`);
    return `OpenSSH's server has the file: ${text.split('\n')[1]}`;
  } finally {
    await sshd.close();
  }
});

await play('AWS', without_moto, async () => {
  const moto = await startMoto();
  // The client of Kinesis speaks HTTP/2 alone, and moto HTTP/1.1.
  const front = http2.createServer((request, response) => {
    void text(request).then(async (body) => {
      const headers = Object.entries(request.headers).filter(([name]) => !name.startsWith(':'));
      const { authority } = request;
      const answer = await fetch(moto.endpoint, {
        method: 'POST',
        headers: Object.fromEntries([...headers, ['x-forwarded-host', authority]]) as never,
        body,
      });
      response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.1' });
      response.end(await answer.text());
    });
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  const kinesis_address = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const variables = {
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: createHmac('sha256', 'moto').digest('hex'),
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL: moto.endpoint,
    AWS_ENDPOINT_URL_KINESIS: kinesis_address,
    AMAZON_S3_ACTIONS_ROLE_ADDRESS: 'arn:aws:iam::123456789012:role/between',
    AMAZON_S3_ACTIONS_EXTERNAL_ID: 'between',
    AMAZON_KINESIS_ACTIONS_ROLE_ADDRESS: 'arn:aws:iam::123456789012:role/between',
    AMAZON_KINESIS_ACTIONS_EXTERNAL_ID: 'between',
  };
  const role = 'arn:aws:iam::123456789012:role/sluice';
  try {
    await fetch(`${moto.endpoint}/orders-bucket`, { method: 'PUT' });
    const s3 = await send(
      's3',
      {
        settings: {
          iam_role_arn: role,
          iam_external_id: 'x',
          s3_aws_bucket_name: 'orders-bucket',
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
      },
      variables,
    );
    requireSent(s3);
    const listed = await (await fetch(`${moto.endpoint}/orders-bucket?list-type=2`)).text();
    const key = /<Key>([^<]+)<\/Key>/.exec(listed)?.[1] ?? '';
    const address = `${moto.endpoint}/orders-bucket/${key}`;
    const file = await (await fetch(address, { headers: authorized('s3') })).text();
    if (!file.includes('o-4711')) throw new Error(`S3 has not the event: ${file}`);
    await aws(moto.endpoint, 'kinesis', 'Kinesis_20131202.CreateStream', {
      StreamName: 'orders',
      ShardCount: 1,
    });
    const kinesis = await send(
      'aws-kinesis',
      {
        settings: { iamRoleArn: role, iamExternalId: 'x' },
        action: 'send',
        mapping: {
          payload: { '@path': '$.properties' },
          partitionKey: 'ada',
          streamName: 'orders',
          awsRegion: 'us-east-1',
          max_batch_size: 500,
          batch_bytes: 1_000_000,
        },
      },
      variables,
    );
    requireSent(kinesis);
    const shards = (await aws(moto.endpoint, 'kinesis', 'Kinesis_20131202.GetShardIterator', {
      StreamName: 'orders',
      ShardId: 'shardId-000000000000',
      ShardIteratorType: 'TRIM_HORIZON',
    })) as { ShardIterator: string };
    const read = (await aws(moto.endpoint, 'kinesis', 'Kinesis_20131202.GetRecords', shards)) as {
      Records: { Data: string }[];
    };
    const data = Buffer.from(read.Records[0]?.Data ?? '', 'base64').toString();
    if (!data.includes('o-4711')) throw new Error(`Kinesis has not the event: ${data}`);
    return `S3 has ${key}, and Kinesis the record ${data}`;
  } finally {
    front.close();
    await moto.close();
  }
});

await sandbox.close();
await outbound.close();
process.exitCode = faults === 0 ? 0 : 1;

/** Asks moto directly, which checks no signature. */
async function aws(endpoint: string, service: string, target: string, body: object) {
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': target,
      ...authorized(service),
    },
    body: JSON.stringify(body),
  });
  return (await answer.json().catch(() => ({}))) as unknown;
}

function authorized(service: string): Record<string, string> {
  const scope = `test/20260101/us-east-1/${service}/aws4_request`;
  return {
    authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`,
  };
}
