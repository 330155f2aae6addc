import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { before, test } from 'node:test';
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { runPlugins } from '../../server/cli/run_plugins.ts';
import { aroundTests, folderAroundTests } from '../around_tests.ts';
import { eventually } from '../eventually.ts';
import {
  hour_of,
  openDeliveringHarness,
  until,
  withEvents,
} from '../factories/batch_exports/delivering_harness.ts';
import { setPluginsLevel } from '../factories/plugins/plugins.ts';
import { openPluginTarget } from '../factories/plugins/running_plugins.ts';
import type { TestOrganization } from '../harness.ts';
import { root } from '../house/source_files.ts';
import { leastEnvironment } from '../processes/sluice_process.ts';
import { openS3Server } from '../servers/object_stores/s3_server.ts';

const examples = join(root, 'examples');
const store = aroundTests(() => openS3Server(['events']));
const target = aroundTests(openPluginTarget);
const bin = folderAroundTests();
let home: TestOrganization;
let address: string;
const server = aroundTests(openDeliveringHarness, async ({ harness, startOnce }) => {
  home = await harness.newOrganization();
  await setPluginsLevel(harness, home, 9);
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  await startOnce();
});
before(() => {
  const main = join(root, 'server', 'main.ts');
  writeFileSync(join(bin, 'sluice'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  chmodSync(join(bin, 'sluice'), 0o755);
});

/** Runs the commands of an example's README in its folder, and gives what they print. */
async function run(example: string, variables: Record<string, string>): Promise<string> {
  const folder = join(examples, example);
  const blocks = readFileSync(join(folder, 'README.md'), 'utf8').matchAll(/^```sh\n(.*?)^```/gms);
  const commands = [...blocks].map(([, block]) => block!).join('');
  assert.notEqual(commands, '');
  const environment = leastEnvironment();
  const child = spawn('bash', ['-eu', '-c', commands], {
    cwd: folder,
    env: {
      ...environment,
      PATH: `${bin}:${join(process.execPath, '..')}:${environment['PATH']}`,
      SLUICE_URL: address,
      SLUICE_API_KEY: home.key,
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  assert.equal(code, 0, `${example}: ${out}${err}`);
  return out;
}

test('each folder of examples/ has a line in its README and a test here', () => {
  const folders = readdirSync(examples, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const page = readFileSync(join(examples, 'README.md'), 'utf8');
  const linked = [...page.matchAll(/^\| \[(\w+)\]\(\1\/\)/gm)].map(([, name]) => name!);
  assert.deepEqual(linked.toSorted(), folders.toSorted());
  const own = readFileSync(import.meta.filename, 'utf8');
  for (const name of folders) assert.ok(own.includes(`run('${name}'`), `Run ${name} here.`);
});

test('send_events: the event is stored when the program ends', async () => {
  await run('send_events', { WRITE_KEY: home.project.api_token });
  const { body } = await home.ask('GET', `/api/projects/${home.project.id}/events/`);
  assert.deepEqual(
    body.results.map((one: any) => [one.event, one.distinct_id]),
    [['signed up', 'ada']],
  );
});

test('export_to_s3, agent: a day lies in the bucket, an agent sees the export', async () => {
  const event = { event: 'bought', distinct_id: 'ada', timestamp: '2026-01-02T03:04:05Z' };
  await home.ask('POST', `/api/projects/${home.project.id}/events/`, event);
  const { access_key, secret_key, endpoint } = store;
  const said = await run('export_to_s3', {
    BUCKET: 'events',
    REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: access_key,
    AWS_SECRET_ACCESS_KEY: secret_key,
    S3_ENDPOINT: endpoint,
  });
  assert.match(said, /^Backfill ended: Completed\. Delivered 1 row in 1 run/m);
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: access_key, secretAccessKey: secret_key },
  });
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: 'events' }));
  client.destroy();
  assert.match(Contents.map(({ Key }) => Key).join('\n'), /^events\/day=2026-01-0\d\/\S+parquet/m);
  assert.match(await run('agent', {}), /^Tools: .*explain_delay[^]*^Events to S3: \w+/m);
});

test('configuration_as_code: an applied configuration leaves nothing to do', async () => {
  const variables = { STAGE: 'staging', ON_CALL: 'on-call@example.com' };
  const said = await run('configuration_as_code', variables);
  assert.match(said, /^\+ create projects\.shop\.batch_exports\.orders/m);
  assert.match(said, /^nothing to do, 3 unchanged\.$/m);
});

test('plugin: each event reaches the address', async () => {
  await run('plugin', { ADDRESS: target.url, HOST: '127.0.0.1', TOKEN: 'a token of this test' });
  const runner = runPlugins(server.harness.deps, { idle_seconds: 1 });
  try {
    const events = [{ event: 'shipped', distinct_id: 'ada' }];
    await home.ask('POST', `/api/projects/${home.project.id}/events/`, { events });
    const [taken] = await eventually(
      'The plugin sent nothing.',
      () => target.taken.length > 0 && target.taken,
    );
    assert.deepEqual([taken.event, taken.distinct_id], ['shipped', 'ada']);
  } finally {
    await runner.stop();
  }
});

const missing = ['python3', 'curl'].filter(
  (program) => spawnSync(program, ['--version']).error !== undefined,
);
const skip = missing.length > 0 && `${missing.join(' and ')} cannot be run`;

test('bench: every event arrives once', { skip }, async () => {
  const other = await server.harness.newOrganization();
  const variables = {
    SLUICE_API_KEY: other.key,
    WRITE_KEY: other.project.api_token,
    FOLDER: server.folder,
    EVENTS: '2000',
  };
  const said = await run('bench', variables);
  assert.match(said, /^delivered +2000 events, .*\nlost +0\ndoubled +0$/m);
  const files = readdirSync(join(server.folder, 'bench')).filter((one) => one.endsWith('.jsonl'));
  const ids = files.flatMap((name) =>
    readFileSync(join(server.folder, 'bench', name), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { uuid: string }).uuid])),
  );
  assert.equal(new Set(ids).size, 2000);
});

test('bench: an event that a product loses or doubles is told', { skip }, async () => {
  const file = join(bin, 'arrived');
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const { batch } = (await json(request)) as { batch: { uuid: string }[] };
    const [, twice, ...others] = batch;
    const arrived = [twice!, twice!, ...others].map(({ uuid }) => `${uuid}\n`);
    appendFileSync(file, arrived.join(''));
    response.end('{}');
  };
  const product = createServer((request, response) => void take(request, response));
  product.listen(0, '127.0.0.1');
  await once(product, 'listening');
  const url = `http://127.0.0.1:${(product.address() as AddressInfo).port}`;
  const options = ['--speaks', 'posthog', '--key', 'k', '--url', url, '--events', '30'];
  options.push('--batch', '10', '--wait', '0', '--ids', `cat '${file}'`);
  const child = spawn('python3', [join(examples, 'bench', 'bench.py'), ...options]);
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  product.close();
  assert.equal(code, 1);
  assert.match(said, /^delivered +27 events, .*\nlost +3\ndoubled +3$/m);
});

test('verify_receipts: whatever differs from the receipts is told', { skip }, async () => {
  const { home: other, created, send, get } = await withEvents(server.harness, 'proof');
  await send('POST', 'backfill/', { start_at: hour_of(0), end_at: hour_of(3) });
  await until(
    () => get('backfills/'),
    ({ results }) => results[0]?.status === 'Completed',
  );
  const variables = { SLUICE_API_KEY: other.key, EXPORT: created.id, FOLDER: server.folder };
  const said = await run('verify_receipts', variables);
  assert.match(said, /^3 deliveries with 30 rows, 3 files read\. Faults: 0\.$/m);
  const script = join(examples, 'verify_receipts', 'verify.py');
  const check = (...options: string[]) =>
    spawnSync('python3', [script, ...options], { encoding: 'utf8' });
  const archive = '/tmp/receipts.zip';

  const folder = join(server.folder, 'proof');
  const receipts = join(folder, '_sluice');
  const { public_key } = server.harness.deps.engine.secrets;
  const right = check(receipts, server.folder, '--key', public_key);
  assert.equal(right.status, 0, right.stdout + right.stderr);
  const name = readdirSync(folder).find((one) => one.endsWith('.jsonl'))!;
  const rows = readFileSync(join(folder, name), 'utf8');
  writeFileSync(join(folder, name), rows.replace('"', "'"));
  const changed = check(archive, server.folder);
  assert.equal(changed.status, 1, changed.stderr);
  assert.match(changed.stdout, new RegExp(`^FILE +proof/${name}: changed: `, 'm'));

  const receipt = readdirSync(receipts).find((one) => one.endsWith('.receipt.json'))!;
  const text = readFileSync(join(receipts, receipt), 'utf8');
  writeFileSync(join(receipts, receipt), text.replace('"records":10', '"records":11'));
  const forged = check(receipts, '--key', public_key);
  assert.equal(forged.status, 1, forged.stderr);
  assert.match(forged.stdout, new RegExp(`^RECEIPT .*${receipt}: the signature is not valid`, 'm'));

  const { publicKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const stranger = check(archive, '--key', key);
  assert.equal(stranger.status, 1, stranger.stderr);
  assert.equal(stranger.stdout.match(/the signature is not valid/g)?.length, 3);
  const wrong = check(archive, '--key', Buffer.alloc(44).toString('base64'));
  assert.deepEqual([wrong.status, wrong.stdout], [2, '']);
  const refused: [string[], RegExp][] = [
    [[archive, '--key', 'abc'], /the key is no Ed25519 key/],
    [[script], /is no zip file of receipts/],
    [[archive, '/nowhere'], /there is no folder \/nowhere/],
  ];
  for (const [options, why] of refused) {
    const { status, stderr } = check(...options);
    assert.equal(status, 2);
    assert.match(stderr, why);
  }
});
