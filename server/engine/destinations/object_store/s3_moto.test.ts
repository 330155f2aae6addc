import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { destinationDeps } from '../../../../test/destinations/destination_deps.ts';
import { eventually } from '../../../../test/eventually.ts';
import { withVariables } from '../../../../test/with_variables.ts';
import { listen } from '../../../../test/servers/loopback.ts';
import { s3 } from '../s3/s3.ts';
import { sdk } from './s3_client.ts';

// Installed by `python3 -m venv peers/moto && peers/moto/bin/pip install 'moto[server,s3,sts]'`.
const program = ['peers/moto/bin/moto_server', 'moto_server'].find(
  (one) => spawnSync(one, ['--help']).status === 0,
);
const skip = program === undefined ? 'moto (PyPI, moto[server]) is not installed.' : false;

const role = {
  aws_role_arn: 'arn:aws:iam::123456789012:role/exports',
  aws_external_id: 'sluice-organization',
};
const keys = { aws_access_key_id: 'testing', aws_secret_access_key: 'testing' };
let endpoint = '';
let stop = async (): Promise<unknown> => undefined;

before(async () => {
  if (program === undefined) return;
  const holder = await listen(createServer());
  const { port } = holder.address() as AddressInfo;
  holder.close();
  const server = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  endpoint = `http://127.0.0.1:${port}`;
  stop = async () => {
    server.kill();
    return once(server, 'exit');
  };
  await eventually(
    'moto does not answer.',
    async () => (await fetch(`${endpoint}/moto-api/`).catch(() => undefined)) !== undefined,
  );
  const client = new (sdk().S3Client)({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'testing', secretAccessKey: 'testing' },
  });
  await client.send(new (sdk().CreateBucketCommand)({ Bucket: 'exports' }));
});
after(() => stop());

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

test('moto: an access key assumes a role, which writes, reads and removes', { skip }, async () => {
  assert.equal((await statuses({ ...keys, ...role })).length, 4);
});

test('moto: a web identity of the server assumes a role', { skip }, async () => {
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
