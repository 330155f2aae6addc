import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../house/source_files.ts';
import { sdk } from '../../../server/engine/destinations/object_store/s3_client.ts';
import { signed } from '../../../server/engine/destinations/object_store/sign_v4.ts';
import { freePorts, startProgram } from './processes.ts';

const run = promisify(execFile);
const module = 'github.com/seaweedfs/seaweedfs';
const commit = 'v0.0.0-20261109003541-7506e5f91cd6';
/** The version that this commit of SeaweedFS reports. */
export const seaweedfs_version = '4.53';
const home = join(root, 'peers', 'seaweedfs');
const program = join(home, 'weed');
// Its module has this line, which only applies to the main module.
const go_mod = `module peers

require ${module} ${commit}

replace github.com/tyler-smith/go-bip39 => github.com/cosmos/go-bip39 v1.0.0

tool ${module}/weed
`;

/** The reason to skip a test with SeaweedFS; false if it is installed. */
export const without_seaweedfs = existsSync(program)
  ? false
  : 'SeaweedFS is not in peers/seaweedfs: node test/servers/lake/install.ts builds it.';

/** A SeaweedFS on 127.0.0.1: an object store and its token service. */
export type Seaweedfs = {
  endpoint: string;
  access_key: string;
  secret_key: string;
  /** A role with all rights to every bucket, which anyone may assume. */
  role_arn: string;
  /** The address of its own Iceberg catalog, which has the table buckets. */
  catalog: string;
  close(): Promise<void>;
};

/** Builds SeaweedFS into peers/seaweedfs/ once, which takes minutes. */
export async function installSeaweedfs(say: (line: string) => void): Promise<void> {
  if (existsSync(program)) return;
  if (spawnSync('go', ['version']).status !== 0) throw new Error('go is not installed.');
  say(`Building SeaweedFS ${seaweedfs_version}`);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'go.mod'), go_mod);
  const build = ['build', '-mod=mod', '-p', '2', '-o', 'weed', `${module}/weed`];
  await run('go', build, { cwd: home, maxBuffer: 2 ** 26 });
}

const role = 'lake';
const [access_key, secret_key] = ['a-key-that-only-tests-have', 'a-secret-that-only-tests-have'];
const role_arn = `arn:aws:iam::123456789012:role/${role}`;

/** Starts it with these buckets, and table buckets. */
export async function startSeaweedfs(
  buckets: string[],
  table_buckets: string[] = [],
): Promise<Seaweedfs> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-seaweedfs-'));
  const identities = join(folder, 'identities.json');
  writeFileSync(identities, JSON.stringify(access()));
  writeFileSync(join(folder, 'security.toml'), '');
  const ports = await freePorts(9);
  const names =
    's3.port s3.port.grpc master.port master.port.grpc volume.port volume.port.grpc ' +
    'filer.port filer.port.grpc s3.port.iceberg';
  const endpoint = `http://127.0.0.1:${ports[0]}`;
  const options: Record<string, string> = {
    dir: join(folder, 'data'),
    ip: '127.0.0.1',
    'ip.bind': '127.0.0.1',
    filer: 'true',
    s3: 'true',
    's3.config': identities,
    's3.iam.config': identities,
    's3.port.lance': '0',
    'volume.max': '200',
    'master.volumeSizeLimitMB': '64',
    'master.telemetry': 'false',
    ...Object.fromEntries(names.split(' ').map((name, at) => [name, String(ports[at])])),
  };
  mkdirSync(options['dir']!);
  const args = Object.entries(options).map(([name, value]) => `-${name}=${value}`);
  const client = new (sdk().S3Client)({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: access_key, secretAccessKey: secret_key },
  });
  const started = await startProgram(
    [program, `-logdir=${folder}`, 'server', ...args],
    folder,
    async () => {
      for (const Bucket of buckets) await client.send(new (sdk().CreateBucketCommand)({ Bucket }));
      for (const name of table_buckets) await createTableBucket(endpoint, name);
      return true;
    },
  );
  client.destroy();
  return {
    endpoint,
    access_key,
    secret_key,
    role_arn,
    catalog: `http://127.0.0.1:${ports[8]}`,
    close: async () => {
      await started.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The config of an export to a table bucket, without its table. */
export const tableBucketConfig = (
  { endpoint, access_key, secret_key, catalog }: Seaweedfs,
  name: string,
) => ({
  storage: 'S3',
  bucket_name: name,
  region: 'us-east-1',
  endpoint_url: endpoint,
  aws_access_key_id: access_key,
  aws_secret_access_key: secret_key,
  catalog: 'rest',
  catalog_uri: catalog,
  catalog_signing_name: 's3tables',
  catalog_warehouse: `arn:aws:s3tables:us-east-1:000000000000:bucket/${name}`,
});

async function createTableBucket(endpoint: string, name: string): Promise<void> {
  const put = async (path: string, fields: object) => {
    const url = new URL(`${endpoint}/buckets${path}`);
    const asked = { method: 'PUT', url, body: JSON.stringify(fields) };
    const { headers } = signed(
      { ...asked, headers: { 'content-type': 'application/json' } },
      { accessKeyId: access_key, secretAccessKey: secret_key },
      { region: 'us-east-1', service: 's3tables' },
      new Date(),
    );
    const answer = await fetch(url, { ...asked, headers });
    if (!answer.ok) throw new Error(`No table bucket: ${answer.status} ${await answer.text()}`);
    return (await answer.json().catch(() => ({}))) as { arn: string };
  };
  const { arn } = await put('', { name });
  // The sessions of the role have no right to it without this.
  const open = { Effect: 'Allow', Principal: '*', Action: 's3tables:*', Resource: '*' };
  const resourcePolicy = JSON.stringify({ Version: '2012-10-17', Statement: [open] });
  await put(`/${encodeURIComponent(arn)}/policy`, { resourcePolicy });
}

/** Its users, and a role whose keys are limited by the policy of the request. */
function access(): object {
  const policy = (statement: object) => ({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', ...statement }],
  });
  return {
    identities: [
      {
        name: 'admin',
        credentials: [{ accessKey: access_key, secretKey: secret_key }],
        actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
      },
    ],
    sts: {
      tokenDuration: '1h',
      maxSessionLength: '12h',
      issuer: 'seaweedfs-sts',
      signingKey: Buffer.from('a-signing-key-that-only-tests-have').toString('base64'),
    },
    policy: { defaultEffect: 'Deny', storeType: 'memory' },
    policies: [
      { name: 'all', document: policy({ Action: ['s3:*', 's3tables:*'], Resource: ['*'] }) },
    ],
    roles: [
      {
        roleName: role,
        roleArn: role_arn,
        attachedPolicies: ['all'],
        trustPolicy: policy({ Principal: '*', Action: ['sts:AssumeRole'] }),
      },
    ],
  };
}
