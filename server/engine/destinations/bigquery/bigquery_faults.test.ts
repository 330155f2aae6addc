import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { eventually } from '../../../../test/eventually.ts';
import {
  deps,
  fileOf,
  freshConfig,
  freshDelivery,
  isFault,
  openAroundTests,
  server,
  stagesOf,
  tableOf,
  write,
} from '../../../../test/destinations/bigquery_world.ts';
import { assertChanged, uuid_only } from '../../../../test/factories/batch_exports/deliveries.ts';
import type { Value } from '../../../../test/servers/bigquery/tables.ts';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { sampleRow } from '../sql_tables/trial/sample_row.ts';
import { openDataset } from './api.ts';
import { bigquery } from './bigquery.ts';
import { loadConfiguration, createScratchTable, slice_encoding } from './stage.ts';
import { uploadJob } from './upload.ts';

openAroundTests();

test('an upload continues where it is, after broken pieces and a lost answer', async () => {
  const config = freshConfig();
  const dataset = await openDataset(config, deps);
  const line = Buffer.from(`${JSON.stringify({ key: 'k'.repeat(1_000_000) })}\n`);
  const fields = [{ name: 'key', type: 'STRING' }];
  const upload = async (table: string, count: number) => {
    await createScratchTable(dataset, table, fields);
    const load = loadConfiguration(dataset, table, {
      sourceFormat: 'NEWLINE_DELIMITED_JSON',
      fields,
    });
    const job = await uploadJob(
      dataset,
      table,
      load,
      Readable.from(Array.from({ length: count }, () => line)),
    );
    assert.deepEqual(job.statistics?.load, {
      inputFileBytes: String(count * line.length),
      outputRows: String(count),
    });
    assert.equal(tableOf(config, table).rows.length, count);
  };
  const piece = /^PUT \/upload\//;
  const seen = server.requests.length;
  await upload('plain', 9);
  assert.equal(server.requests.slice(seen).filter((request) => piece.test(request)).length, 2);
  server.takePartNext();
  await upload('part', 9);
  server.failNext(piece, 503, 'backendError');
  await upload('refused', 1);
  server.dropNext(piece);
  await upload('broken', 1);
  server.loseAnswerNext(piece);
  await upload('lost', 9);
  server.loseAnswerNext(piece);
  await upload('last_lost', 1);
  for (const status of [404, 410]) {
    server.failNext(piece, status, 'notFound');
    await assert.rejects(upload(`gone_${status}`, 1), isFault(RetryableError, 'slice_lost'));
  }
});

test('a slice that BigQuery does not take is a fault of its own, its stage is gone', async () => {
  const config = freshConfig();
  const cases: [
    reason: string,
    message: string,
    kind: typeof RetryableError | typeof NonRetryableError,
    code: string,
  ][] = [
    [
      'invalid',
      'Error while reading data, error message: bad value in column uuid',
      NonRetryableError,
      'value_refused',
    ],
    ['invalid', 'Row size is too large: 120 MB', NonRetryableError, 'limit_exceeded'],
    [
      'quotaExceeded',
      'Quota exceeded: Your project exceeded quota for imports per project.',
      RetryableError,
      'throttled',
    ],
    ['backendError', 'Error encountered during execution.', RetryableError, 'server_fault'],
    [
      'accessDenied',
      `Access Denied: ${server.account.client_email} lacks bigquery.tables.updateData`,
      NonRetryableError,
      'permission_denied',
    ],
  ];
  for (const [reason, message, kind, code] of cases) {
    const sink = await bigquery.open(config, freshDelivery(), deps);
    server.jobs.failNext(/^load_/, reason, message);
    await assert.rejects(
      write(sink),
      (error: Error) =>
        isFault(kind, code)(error) && !error.message.includes(server.account.client_email),
    );
    assert.deepEqual(stagesOf(config), []);
  }
  const sink = await bigquery.open(config, freshDelivery(), deps);
  await assert.rejects(
    write(sink, 0, { bytes: await fileOf(uuid_only, "values('uuid String', 'one')"), records: 3 }),
    isFault(RetryableError, 'count_mismatch'),
  );
  assert.deepEqual(stagesOf(config), []);
});

test('the connection test sends real values, and names each column that changes one', async () => {
  const config = freshConfig();
  const loadsOf = async (work: () => Promise<unknown>) => {
    server.jobs.loads.length = 0;
    await work();
    return JSON.parse(
      JSON.stringify(server.jobs.loads).replaceAll(/sluice_stage_\w+/g, 'stage'),
    ) as unknown[];
  };
  const check = () => bigquery.check(config, contractColumns, deps);
  const sink = await bigquery.open(config, freshDelivery({ columns: contractColumns }), deps);
  const delivered = await loadsOf(async () =>
    write(sink, 0, {
      bytes: await deps.encodeRow!(sampleRow(contractColumns), slice_encoding),
      records: 1,
    }),
  );
  assert.equal(delivered.length, 1);
  assert.deepEqual(await loadsOf(check), delivered);
  await sink.abort([]);

  const changes: Record<string, Value[]> = {
    uuid: ['018f0000-0000-7000-8000-000000000001'],
    event: ['$pagevie', 'page view', ''],
    properties: ['{"of":"a connection tes"}', '"{}"', null],
    note: [null, ''],
    timestamp: [
      '2026-01-02T03:04:05.679000Z',
      '2026-01-02T03:04:05.000000Z',
      '2026-01-02T02:04:05.678901Z',
      null,
    ],
    amount: [2n, null],
    ratio: [0.49999999999999994, null],
    is_new: [false, null],
  };
  assert.deepEqual(
    Object.keys(changes),
    contractColumns.map(({ name }) => name),
  );
  // The first value of each column at once, then the second of those that have one, and so on.
  for (let number = 0; ; number += 1) {
    const spoiled = Object.entries(changes).filter(([, values]) => number < values.length);
    if (spoiled.length === 0) break;
    const values = Object.fromEntries(
      spoiled.map(([column, others]) => [column, others[number] ?? null]),
    );
    server.jobs.spoilNext((row) => ({ ...row, ...values }));
    assertChanged(await check(), Object.keys(values));
    assert.deepEqual(stagesOf(config), []);
  }
  assert.ok((await check()).every(({ status }) => status === 'passed'));
});

test('a connection test that loses its file or its rows names the cause', async () => {
  const config = freshConfig();
  const failed = async (changes: Partial<DestinationDeps>) =>
    (await bigquery.check(config, uuid_only, { ...deps, ...changes }))
      .filter(({ status }) => status === 'failed')
      .map(({ name, detail }) => `${name}: ${detail}`);
  const refused = new RetryableError('store_fault', 'The store is away.');
  assert.deepEqual(await failed({ encodeRow: () => Promise.reject(refused) }), [
    'Write a row: The store is away.',
  ]);
  const two = await fileOf(uuid_only, "values('uuid String', 'one', 'two')");
  assert.match(
    (await failed({ encodeRow: async () => two })).join(),
    /^Write a row: BigQuery took 2 rows instead of 1\./,
  );
  assert.deepEqual(stagesOf(config), []);
});

test('a passing refusal of Google is retried, and a stop ends the wait and the stage', async () => {
  const config = freshConfig();
  server.failNext(/^GET .*datasets/, 503, 'backendError');
  server.failNext(/^GET .*datasets/, 429, 'rateLimitExceeded');
  await bigquery.open(config, freshDelivery(), deps);
  server.failNext(/^GET .*datasets/, 403, 'quotaExceeded');
  await assert.rejects(
    bigquery.open(config, freshDelivery(), deps),
    isFault(RetryableError, 'throttled'),
  );
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
    await eventually('the request has not come', () =>
      server.requests.slice(seen).some((line) => line.startsWith('PUT /upload/')),
    );
    stop.abort();
    await writing;
    assert.deepEqual(stagesOf(config), [], name);
  }
  assert.deepEqual(
    server.jobs.states().filter((state) => state.endsWith('RUNNING')),
    [],
  );
});
