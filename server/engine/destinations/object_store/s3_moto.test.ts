import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { after, before, test } from 'node:test';
import { destinationDeps } from '../../../../test/destinations/destination_deps.ts';
import { assertListedSeals } from '../../../../test/destinations/listed_seals.ts';
import { withVariables } from '../../../../test/with_variables.ts';
import { startMoto, without_moto } from '../../../../test/servers/moto.ts';
import type { Moto } from '../../../../test/servers/moto.ts';
import { s3 } from '../s3/s3.ts';
import { openBucket } from './s3_bucket.ts';
import { sdk } from './s3_client.ts';

const role = {
  aws_role_arn: 'arn:aws:iam::123456789012:role/exports',
  aws_external_id: 'sluice-organization',
};
const keys = { aws_access_key_id: 'testing', aws_secret_access_key: 'testing' };
let moto: Moto | undefined;
let endpoint = '';

before(async () => {
  if (without_moto !== false) return;
  moto = await startMoto();
  ({ endpoint } = moto);
  const client = new (sdk().S3Client)({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'testing', secretAccessKey: 'testing' },
  });
  await client.send(new (sdk().CreateBucketCommand)({ Bucket: 'exports' }));
});
after(() => moto?.close());

async function statuses(config: object): Promise<string[]> {
  const deps = destinationDeps();
  const aws_roles = {
    principal: 'arn:aws:iam::123456789012:role/sluice',
    sts_endpoint_url: endpoint,
  };
  const place = { bucket_name: 'exports', region: 'us-east-1', prefix: 'a', ...config };
  const steps = await s3.check({ ...place, endpoint_url: endpoint }, [], { ...deps, aws_roles });
  await deps.outbound.close();
  for (const { status, detail } of steps) assert.equal(status, 'passed', detail);
  return steps.map(({ name }) => name);
}

test(
  'moto: an access key assumes a role, which writes, reads and removes',
  { skip: without_moto },
  async () => {
    assert.equal((await statuses({ ...keys, ...role })).length, 4);
  },
);

test('moto: a web identity of the server assumes a role', { skip: without_moto }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-token-'));
  const file = join(folder, 'token');
  writeFileSync(file, 'a.web.token');
  const set = {
    AWS_WEB_IDENTITY_TOKEN_FILE: file,
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/sluice',
    AWS_ENDPOINT_URL_STS: endpoint,
  };
  const names = await withVariables(set, () => statuses(role));
  rmSync(folder, { recursive: true });
  assert.equal(names.length, 4);
});

const channel = 'http.client.request.start';

test(
  'moto: lists alone tell that objects are the uploaded ones',
  { skip: without_moto },
  async () => {
    const place = { bucket_name: 'exports', region: 'us-east-1', prefix: 'listed' };
    const config = { ...place, ...keys, endpoint_url: endpoint };
    const deps = destinationDeps();
    const store = openBucket(config, deps.outbound, deps.signal);
    const requests: string[] = [];
    const note = (message: unknown) => {
      const { method, path } = (message as { request: ClientRequest }).request;
      requests.push(`${method} ${path}`);
    };
    subscribe(channel, note);
    const lists = /list-type=2/;
    await assertListedSeals({ definition: s3, config, deps, store, requests, lists });
    unsubscribe(channel, note);
    await deps.outbound.close();
  },
);
