import { createHmac } from 'node:crypto';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { startMoto } from '../../../test/servers/moto.ts';
import { requireSent, requireTraced } from './sending.ts';
import type { Send } from './sending.ts';

const role = 'arn:aws:iam::123456789012:role/sluice';
const between = 'arn:aws:iam::123456789012:role/between';

/** Sends an event to S3 and one to Kinesis, and returns what arrived. */
export async function playAws(send: Send): Promise<string> {
  const moto = await startMoto();
  const front = await openFront(moto.endpoint);
  const variables = {
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: createHmac('sha256', 'moto').digest('hex'),
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL: moto.endpoint,
    AWS_ENDPOINT_URL_KINESIS: front.address,
    AMAZON_S3_ACTIONS_ROLE_ADDRESS: between,
    AMAZON_S3_ACTIONS_EXTERNAL_ID: 'between',
    AMAZON_KINESIS_ACTIONS_ROLE_ADDRESS: between,
    AMAZON_KINESIS_ACTIONS_EXTERNAL_ID: 'between',
  };
  try {
    const key = await sendToS3(moto.endpoint, send, variables);
    const data = await sendToKinesis(moto.endpoint, send, variables);
    return `S3 has ${key}, and Kinesis the record ${data}`;
  } finally {
    front.close();
    await moto.close();
  }
}

/** Opens an HTTP/2 proxy of moto: the client of Kinesis only speaks HTTP/2, and moto HTTP/1.1. */
async function openFront(endpoint: string) {
  const pass = async (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => {
    const body = await text(request);
    const headers = Object.entries(request.headers).filter(([name]) => !name.startsWith(':'));
    const { authority } = request;
    const answer = await fetch(endpoint, {
      method: 'POST',
      headers: Object.fromEntries([...headers, ['x-forwarded-host', authority]]) as never,
      body,
    });
    response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(await answer.text());
  };
  const front = http2.createServer((request, response) => void pass(request, response));
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  const { port } = front.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}`, close: () => front.close() };
}

/** Returns the key of the file that contains the event. */
async function sendToS3(
  endpoint: string,
  send: Send,
  variables: Record<string, string>,
): Promise<string> {
  await fetch(`${endpoint}/orders-bucket`, { method: 'PUT' });
  const sending = {
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
  };
  const outcome = await send('s3', sending, variables);
  requireSent(outcome);
  requireTraced(outcome, /\/orders-bucket\/orders.*\.csv/, /^$/, { status: 200 });
  const listed = await (await fetch(`${endpoint}/orders-bucket?list-type=2`)).text();
  const key = /<Key>([^<]+)<\/Key>/.exec(listed)?.[1] ?? '';
  const address = `${endpoint}/orders-bucket/${key}`;
  const file = await (await fetch(address, { headers: authorized('s3') })).text();
  if (!file.includes('o-4711')) throw new Error(`S3 has not the event: ${file}`);
  return key;
}

/** Returns the record that contains the event. */
async function sendToKinesis(
  endpoint: string,
  send: Send,
  variables: Record<string, string>,
): Promise<string> {
  const ask = (action: string, body: object) =>
    aws(endpoint, 'kinesis', `Kinesis_20131202.${action}`, body);
  await ask('CreateStream', { StreamName: 'orders', ShardCount: 1 });
  const sending = {
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
  };
  const outcome = await send('aws-kinesis', sending, variables);
  requireSent(outcome);
  const text = Buffer.from('{"order_id":"o-4711"').toString('base64').slice(0, -4);
  requireTraced(outcome, /^http:/, /"SequenceNumber"/, { text, status: 200 });
  const shards = (await ask('GetShardIterator', {
    StreamName: 'orders',
    ShardId: 'shardId-000000000000',
    ShardIteratorType: 'TRIM_HORIZON',
  })) as { ShardIterator: string };
  const read = (await ask('GetRecords', shards)) as { Records: { Data: string }[] };
  const data = Buffer.from(read.Records[0]?.Data ?? '', 'base64').toString();
  if (!data.includes('o-4711')) throw new Error(`Kinesis has not the event: ${data}`);
  return data;
}

/** Sends moto a request without a signature, which it does not check. */
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
