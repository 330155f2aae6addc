import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { eventually } from '../../../../test/eventually.ts';
import { freshDelivery, isFault, openBigQueryWorld } from '../../../../test/bigquery_world.ts';
import { uuid_only } from '../../../../test/deliveries.ts';
import { NonRetryableError, RetryableError } from '../../destination.ts';
import { openDataset } from './api.ts';
import { bigquery } from './bigquery.ts';
import { loadConfiguration, makeScratchTable } from './stage.ts';
import { uploadJob } from './upload.ts';

const { server, deps, freshConfig, tableOf, stagesOf, fileOf, write } = await openBigQueryWorld();

test('an upload goes on from where it is: pieces that arrived in part, were refused, broke, or whose answer was lost', async () => {
  const config = freshConfig();
  const dataset = await openDataset(config, deps);
  const line = Buffer.from(`${JSON.stringify({ key: 'k'.repeat(1_000_000) })}\n`);
  const fields = [{ name: 'key', type: 'STRING' }];
  const upload = async (table: string, count: number) => {
    await makeScratchTable(dataset, table, fields);
    const load = loadConfiguration(dataset, table, { sourceFormat: 'NEWLINE_DELIMITED_JSON', fields });
    const job = await uploadJob(dataset, table, load, Readable.from(Array.from({ length: count }, () => line)));
    assert.deepEqual(job.statistics?.load, { inputFileBytes: String(count * line.length), outputRows: String(count) });
    assert.equal(tableOf(config, table).rows.length, count);
  };
  const piece = /^PUT \/upload\//;
  const seen = server.requests.length;
  await upload('plain', 20);
  assert.equal(server.requests.slice(seen).filter((request) => piece.test(request)).length, 3);
  server.takePartNext();
  await upload('part', 9);
  server.failNext(piece, 503, 'backendError');
  await upload('refused', 9);
  server.dropNext(piece);
  await upload('broken', 9);
  server.loseAnswerNext(piece);
  await upload('lost', 9);
  server.loseAnswerNext(piece);
  await upload('last_lost', 1);
  for (const status of [404, 410]) {
    server.failNext(piece, status, 'notFound');
    await assert.rejects(upload(`gone_${status}`, 1), isFault(RetryableError, 'slice_lost'));
  }
});

test('a slice that BigQuery does not take is a fault of its own, and its stage is gone', async () => {
  const config = freshConfig();
  const cases: [reason: string, message: string, kind: typeof RetryableError | typeof NonRetryableError, code: string][] = [
    ['invalid', 'Error while reading data, error message: bad value in column uuid', NonRetryableError, 'value_refused'],
    ['invalid', 'Row size is too large: 120 MB', NonRetryableError, 'limit_exceeded'],
    ['quotaExceeded', 'Quota exceeded: Your project exceeded quota for imports per project.', RetryableError, 'throttled'],
    ['backendError', 'Error encountered during execution.', RetryableError, 'server_fault'],
    ['accessDenied', `Access Denied: ${server.account.client_email} lacks bigquery.tables.updateData`, NonRetryableError, 'permission_denied'],
  ];
  for (const [reason, message, kind, code] of cases) {
    const sink = await bigquery.open(config, freshDelivery(), deps);
    server.jobs.failNext(/^load_/, reason, message);
    await assert.rejects(write(sink), (error: Error) => isFault(kind, code)(error) && !error.message.includes(server.account.client_email));
    assert.deepEqual(stagesOf(config), []);
  }
  const sink = await bigquery.open(config, freshDelivery(), deps);
  await assert.rejects(
    write(sink, 0, { bytes: await fileOf(uuid_only, "values('uuid String', 'one')"), records: 3 }),
    isFault(RetryableError, 'count_mismatch'),
  );
  assert.deepEqual(stagesOf(config), []);
});

test('what Google refuses for now is tried again, and a stop ends what waits at once and removes the stage', async () => {
  const config = freshConfig();
  server.failNext(/^GET .*datasets/, 503, 'backendError');
  server.failNext(/^GET .*datasets/, 429, 'rateLimitExceeded');
  await bigquery.open(config, freshDelivery(), deps);
  server.failNext(/^GET .*datasets/, 403, 'quotaExceeded');
  await assert.rejects(bigquery.open(config, freshDelivery(), deps), isFault(RetryableError, 'throttled'));
  for (const [name, hold] of [
    ['a piece', () => server.holdNext(/^PUT \/upload\//)],
    ['a job', () => server.jobs.holdNext(/^load_/)],
  ] as const) {
    const stop = new AbortController();
    const given = freshDelivery();
    const sink = await bigquery.open(config, given, { ...deps, signal: stop.signal });
    hold();
    const seen = server.requests.length;
    const writing = assert.rejects(write(sink), /^Error: The work was stopped\.$/, name);
    await eventually('the request has not come', () => server.requests.slice(seen).some((line) => line.startsWith('PUT /upload/')));
    stop.abort();
    await writing;
    assert.deepEqual(stagesOf(config), [], name);
  }
  assert.deepEqual(
    server.jobs.states().filter((state) => state.endsWith('RUNNING')),
    [],
  );
});
