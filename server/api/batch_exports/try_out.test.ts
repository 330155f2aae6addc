import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { aroundTests } from '../../../test/around_tests.ts';
import { projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import type { Answer, Harness } from '../../../test/harness.ts';
import type { Engine } from '../../engine/exports/engine.ts';
import { columnsOf, openSourceQuery } from '../../engine/exports/source/source_query.ts';
import { streamSliceOnce } from '../../engine/exports/source/recent_slices.ts';
import {
  first_hour_at,
  insertEvents,
  openDeliveringHarness,
  withEvents,
} from '../../../test/factories/batch_exports/delivering_harness.ts';

const hour_ms = 3_600_000;
let harness: Harness;
const delivering = aroundTests(openDeliveringHarness, async (opened) => {
  harness = opened.harness;
});

test('a destination is tested and previewed, before and after the export is created', async () => {
  const { home, created, send } = await withEvents(harness, 'tested', { paused: true });
  const draft = (config: object) => ({
    name: 'x',
    interval: 'hour',
    destination: { type: 'File', config },
  });
  const post = (path: string, body: unknown) =>
    home.ask('POST', `${projectBase(home)}${path}`, body);
  const statuses = (answer: Answer) =>
    answer.body.steps.map((step: { status: string }) => step.status);
  assert.deepEqual(statuses(await post('test/', draft({ prefix: 'tested' }))), [
    'passed',
    'passed',
    'passed',
    'passed',
  ]);
  assert.deepEqual(statuses(await send('POST', 'test/')), ['passed', 'passed', 'passed', 'passed']);
  assert.deepEqual(statuses(await post('test/', draft({ prefix: 'probe/deep/{year}' }))), [
    'passed',
    'passed',
    'passed',
    'passed',
  ]);
  await writeFile(join(delivering.folder, 'blocked'), '');
  assert.ok(!(await readdir(delivering.folder)).includes('probe'), 'a test leaves no folder');
  assert.equal(
    statuses(
      await send('POST', 'test/', { destination: { config: { prefix: 'blocked/inside' } } }),
    )[0],
    'failed',
  );
  assert.deepEqual((await post('test/?validate_only=true', draft({ prefix: 'tested' }))).body, {
    steps: [],
  });
  assert.equal((await post('test/', draft({}))).body.attr, 'destination__config__prefix');
  const events = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event: string }).event);
  const shown = (await send('POST', 'preview/')).body;
  assert.deepEqual(
    [shown.format, shown.records, events(shown.text)],
    ['JSONLines', 10, Array.from({ length: 10 }, (_, number) => `event ${number}`)],
  );
  const { columns, rows } = shown;
  assert.deepEqual(
    rows.map((row: string[]) => row[columns.indexOf('event')]),
    Array.from({ length: 10 }, (_, number) => `event ${number}`),
    'the same rows stand in a table',
  );
  const packed = (
    await send('POST', 'preview/', { destination: { config: { compression: 'gzip' } } })
  ).body;
  assert.deepEqual(
    [packed.text, gunzipSync(Buffer.from(packed.base64, 'base64')).toString()],
    [shown.text, shown.text],
  );
  const parquet = (await post('preview/', draft({ prefix: 'x', file_format: 'Parquet' }))).body;
  assert.deepEqual(
    [
      parquet.text,
      parquet.rows.length,
      Buffer.from(parquet.base64, 'base64').subarray(0, 4).toString(),
    ],
    [null, 10, 'PAR1'],
  );
  assert.equal((await send('GET', '')).body.last_updated_at, created.last_updated_at);
});

test('a preview of long rows shows the oldest alone, and none that is too long', async () => {
  const home = await harness.newOrganization();
  const properties = { x: 'y'.repeat(3 * 1024 * 1024) };
  for (const event of ['first', 'second']) {
    const sent = { body: { event, distinct_id: 'd', properties }, key: home.key };
    const path = `/api/projects/${home.project.id}/events/`;
    assert.equal((await harness.request('POST', path, sent)).status, 200);
  }
  const preview = (changes: object) =>
    home.ask(
      'POST',
      `${projectBase(home)}preview/`,
      {
        name: 'x',
        interval: 'hour',
        destination: { type: 'File', config: { prefix: 'long' } },
        ...changes,
      },
      { 'idempotency-key': 'long' },
    );
  const shown = await preview({});
  assert.deepEqual([shown.status, shown.body.records], [200, 1], shown.text.slice(0, 300));
  assert.equal(JSON.parse(shown.body.text).event, 'first');
  const { columns, rows } = shown.body;
  assert.equal(rows[0][columns.indexOf('properties')].length, 201, 'a long value is cut');
  // The server does not keep so long an answer, and the key is free for another one.
  const six = [1, 2, 3, 4, 5, 6].map((number) => `properties AS p${number}`).join(', ');
  const custom_query = `SELECT uuid, event, timestamp, ${six} FROM events`;
  const refused = await preview({ custom_query });
  assert.equal(refused.status, 400, refused.text.slice(0, 300));
  assert.match(refused.body.detail, /^The first row is larger than 16 MiB/);
});

test('the same slice is queried once, unless project, filter or format differ', async () => {
  const home = await harness.newOrganization();
  await insertEvents(harness, home);
  let asked = 0;
  const clickhouse = Object.create(harness.deps.clickhouse) as Engine['clickhouse'];
  clickhouse.exec = (question) => (++asked, harness.deps.clickhouse.exec(question));
  const slice = { number: 0, inserted_from: null, inserted_to: null, records: 10, outcome: null };
  const selection = [
    {
      event_from: null,
      event_to: null,
      inserted_from: first_hour_at,
      inserted_to: first_hour_at + hour_ms,
    },
  ];
  const read = async (
    include_events: string[],
    team_id = home.project.id,
    format: 'JSONLines' | 'CSV' = 'JSONLines',
  ) => {
    const source = {
      team_id,
      model: 'events',
      selection,
      custom_query: null,
      destination_config: { include_events },
      data_interval_end: '',
    } as const;
    const [reading, columns] = [
      await openSourceQuery(harness.deps.engine, { ...source, selection }),
      columnsOf(source, 'files'),
    ];
    return text(
      await streamSliceOnce(
        { ...harness.deps.engine, clickhouse },
        reading,
        slice,
        columns,
        { format, compression: null },
        new AbortController().signal,
      ),
    );
  };
  const first = await read([]);
  assert.deepEqual([first.split('\n').length, await read([]), asked], [11, first, 1]);
  const others = [
    await read(['event 1']),
    await read([], home.project.id + 1),
    await read([], home.project.id, 'CSV'),
  ];
  assert.deepEqual([asked, new Set([first, ...others]).size], [4, 4]);
});
