import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { assertListedSeals } from '../../../../test/destinations/listed_seals.ts';
import { isPassing, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Sink, SliceOutcome } from '../../model/destination/destination.ts';
import { azureblob } from './azureblob.ts';
import type { AzureBlobConfig } from './config.ts';
import { openContainer } from './container.ts';
import {
  openAroundTests,
  container_name,
  deps,
  server,
  reader,
  base,
  signatureFor,
  names,
  text,
} from '../../../../test/destinations/azureblob_world.ts';
import { delivery, write } from '../../../../test/factories/batch_exports/object_deliveries.ts';
import { stopWhileHeld } from '../../../../test/servers/faulty_server.ts';

openAroundTests();

test('a large slice goes up in blocks and comes back whole, with its kind', async () => {
  const sink = await azureblob.open({ ...base, prefix: 'large' }, delivery, deps);
  const pieces = Array.from({ length: 9 }, (_, number) =>
    Buffer.alloc(1 << 20, `piece ${number} `),
  );
  const seen = server.requests.length;
  const { name, state } = await sink.write({ number: 0, records: 1 }, Readable.from(pieces));
  assert.equal(
    server.requests.slice(seen).filter((request) => request.includes('comp=block&')).length,
    2,
  );
  await sink.commit([{ number: 0, name, state, records: 1, bytes: 9 << 20, sha256: '' }], manifest);
  const blob = reader.getBlobClient(name);
  assert.ok((await blob.downloadToBuffer()).equals(Buffer.concat(pieces)));
  assert.equal((await blob.getProperties()).contentType, 'application/x-ndjson');
});

test('a connection string, with key or signature, does the same as keys of their own', async () => {
  const signature = signatureFor('rcwdl');
  const ways: Partial<AzureBlobConfig>[] = [
    {
      connection_string: `DefaultEndpointsProtocol=http;AccountName=${server.account_name};AccountKey=${server.account_key};BlobEndpoint=${server.endpoint}/;`,
    },
    { connection_string: `BlobEndpoint=${server.endpoint};SharedAccessSignature=?${signature}` },
    { account_name: server.account_name, sas_token: signature, endpoint_url: server.endpoint },
  ];
  for (const [number, way] of ways.entries()) {
    const config = { container_name, prefix: `way-${number}`, ...way };
    assert.deepEqual(azureblob.validate(config), []);
    assert.deepEqual(
      (await azureblob.check(config, [], deps)).map((step) => step.status),
      ['passed', 'passed', 'passed', 'passed'],
    );
    const sink = await azureblob.open(config, delivery, deps);
    await sink.commit([await write(sink)], manifest);
    assert.equal((await names(`way-${number}/`, true)).length, 2);
  }
});

test('a signature that may only write can deliver', async () => {
  const config = {
    container_name,
    prefix: 'write-only',
    account_name: server.account_name,
    sas_token: signatureFor('cw'),
    endpoint_url: server.endpoint,
  };
  const sink = await azureblob.open(config, delivery, deps);
  assert.equal(await sink.isCommitted(), false);
  assert.deepEqual(await sink.recover([]), []);
  await sink.commit([await write(sink)], manifest);
  assert.equal((await names('write-only/')).length, 2);
  await sink.abort([]);
});

test('a delivery that is written again shows its old objects until commit', async () => {
  const config = { ...base, prefix: 'over' };
  const first = await azureblob.open(config, delivery, deps);
  const outcome = await write(first);
  await first.commit([outcome], manifest);
  const again = await azureblob.open(config, { ...delivery, attempt: 2 }, deps);
  const { name, state } = await again.write({ number: 0, records: 1 }, text('{"again":1}\n'));
  assert.equal((await reader.getBlobClient(name).downloadToBuffer()).toString(), '{}\n');
  await again.commit([{ ...outcome, state, bytes: 12 }], manifest);
  assert.equal((await reader.getBlobClient(name).downloadToBuffer()).toString(), '{"again":1}\n');
  // The dead attempt's blocks went with the commit, so its own commit finds neither them nor its
  // mark.
  await assert.rejects(first.commit([outcome], manifest), isPassing('slice_lost'));
});

test('a passing fault of the store is retried at once, a lasting one later', async () => {
  const config = { ...base, prefix: 'slow' };
  const sink = await azureblob.open(config, delivery, deps);
  server.failNext(/comp=block&/, 503, 'ServerBusy');
  await write(sink);
  for (let times = 0; times < 3; times += 1) server.failNext(/comp=block&/, 503, 'ServerBusy');
  await assert.rejects(write(sink, 1), isPassing('throttled'));
  for (let times = 0; times < 3; times += 1) server.dropNext(/comp=block&/);
  await assert.rejects(write(sink, 1), isPassing('connection_lost'));
  await sink.abort([]);
  assert.deepEqual(await names('slow/', true), []);
});

test('a store that does not answer is left at once when the run is stopped', async () => {
  const waits: [RegExp, (sink: Sink, outcome: SliceOutcome) => Promise<unknown>][] = [
    [/comp=block&/, (sink) => write(sink, 1)],
    [/^GET .*receipt/, (sink) => sink.isCommitted()],
    [/^GET .*comp=blocklist/, (sink, outcome) => sink.recover([outcome])],
    [/^PUT .*comp=blocklist/, (sink, outcome) => sink.commit([outcome], manifest)],
    [/^GET .*comp=list/, (sink) => sink.abort([])],
  ];
  for (const [number, [pattern, wait]] of waits.entries()) {
    const config = { ...base, prefix: `held-${number}` };
    const stop = new AbortController();
    const sink = await azureblob.open(config, delivery, { ...deps, signal: stop.signal });
    const outcome = await write(sink);
    await stopWhileHeld(server, pattern, stop, () => wait(sink, outcome));
    assert.deepEqual(await names(`held-${number}/`), []);
    await assert.rejects(
      azureblob.open(config, delivery, { ...deps, signal: stop.signal }),
      /stopped/,
    );
  }
});

test('no key or signature is in any error, however deep', async () => {
  const secrets = [Buffer.from('a-secret-key').toString('base64'), 'secret-signature'];
  const wrong: AzureBlobConfig[] = [
    { ...base, account_key: secrets[0] ?? '' },
    { ...base, account_key: null, sas_token: `sv=2024-11-04&sr=c&sp=rcwdl&sig=${secrets[1]}` },
    {
      ...base,
      account_key: null,
      sas_token: `sv=2024-11-04&sr=c&sp=rcwdl&sig=${secrets[1]}`,
      endpoint_url: 'http://127.0.0.1:1',
    },
  ];
  for (const config of wrong) {
    const sink = await azureblob.open(config, delivery, deps);
    const error = await write(sink).catch((failure: unknown) => failure);
    assert.ok(error instanceof NonRetryableError || error instanceof RetryableError);
    const said: string[] = [];
    for (let at: unknown = error; at instanceof Error; at = at.cause)
      said.push(at.message, String(at.stack));
    for (const secret of secrets) assert.ok(!said.join().includes(secret), said.join());
  }
});

test('leftovers of unknown attempts are removed, shown and kept objects stay', async () => {
  const store = await openContainer({ ...base }, deps.outbound, deps.signal);
  const stage = async (key: string, mark: string) => {
    await store.startUpload(key, { mark, content_type: 'text/csv' });
    return store.uploadPart(key, mark, 1, Buffer.from('x'), deps.signal);
  };
  const part = await stage('tidy/seen', 'first');
  assert.equal(
    await store.completeUpload('tidy/seen', 'first', [part], {
      mark: 'first',
      content_type: 'text/csv',
    }),
    true,
  );
  for (const key of ['tidy/seen', 'tidy/kept', 'tidy/gone']) await stage(key, 'later');
  await store.endUploads('tidy/', [{ key: 'tidy/kept', upload_id: 'later' }]);
  assert.deepEqual(await names('tidy/', true), ['tidy/kept', 'tidy/seen']);
  assert.equal((await store.describe('tidy/seen'))?.mark, 'first');
  assert.equal((await store.listParts('tidy/kept', 'later'))?.length, 1);
  assert.equal(await store.listParts('tidy/kept', 'other'), undefined);
  assert.equal(await store.listParts('tidy/gone', 'later'), undefined);
});

test('lists alone tell that new objects are the uploaded ones', async () => {
  const config = { ...base, prefix: 'listed' };
  const { requests } = server;
  const store = await openContainer(config, deps.outbound, deps.signal);
  const lists = /comp=list/;
  await assertListedSeals({ definition: azureblob, config, deps, store, requests, lists });
});
