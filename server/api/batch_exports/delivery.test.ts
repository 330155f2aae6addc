import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { newExport, projectBase } from '../../../test/factories/batch_exports.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, Harness, TestOrganization } from '../../../test/harness.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import type { Engine } from '../../engine/engine.ts';
import { planDueExports } from '../../engine/planning/plan.ts';
import { columnsOf, openReading } from '../../engine/source/source_query.ts';
import { readReceipt } from '../../engine/runs/receipt.ts';
import { streamSliceOnce } from '../../engine/source/recent_slices.ts';
import { startWorker } from '../../engine/workers/worker.ts';
import type { Worker } from '../../engine/workers/worker.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import { openDatabase } from '../../platform/postgres/database.ts';

let stores: TestStores;
let house: Harness;
let worker: Worker | undefined;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-exports-'));
  stores = await openTestStores({ clickhouse: true });
  house = await openHarness({
    clickhouse: false,
    config: { export_dir: folder, settle_seconds: 1 },
    deps: {
      db: openDatabase(stores.database_url, {
        connections_max: 8,
        application_name: 'sluice-test',
      }),
      clickhouse: openClickHouse(stores.clickhouse_url, { application: 'sluice-test' }),
    },
  });
});
after(async () => {
  await worker?.stop();
  await house.close();
  await stores.close();
  await rm(folder, { recursive: true, force: true });
});

const engine = () => house.deps.engine;
const hour_ms = 3_600_000;
const from = Date.parse('2026-01-01T00:00:00.000000Z');
const clickHouseInstant = (at: number) =>
  new Date(at).toISOString().replace('T', ' ').replace('Z', '');

/** Ten events in each of the first three hours of 1 January 2026, taken in as they happened. */
async function insertEvents(home: TestOrganization): Promise<void> {
  const instants = Array.from(
    { length: 30 },
    (_, number) => from + Math.floor(number / 10) * hour_ms + (number % 10) * 60_000,
  );
  await insertAt(
    home,
    instants.map((at, number) => ({ event: `event ${number}`, happened: at, taken: at })),
  );
}

/** Events that happened and were taken in at these instants, in milliseconds. */
async function insertAt(
  home: TestOrganization,
  events: { event: string; happened: number; taken: number }[],
): Promise<void> {
  const values = events.map(({ event, happened, taken }) => ({
    team_id: home.project.id,
    uuid: crypto.randomUUID(),
    event,
    distinct_id: 'd',
    person_id: crypto.randomUUID(),
    properties: '{}',
    person_properties: '{}',
    elements_chain: '',
    timestamp: clickHouseInstant(happened),
    created_at: clickHouseInstant(taken),
    inserted_at: clickHouseInstant(taken),
  }));
  await house.deps.clickhouse.insert({ table: 'events', values, format: 'JSONEachRow' });
}

/** Puts the schedule at the first of the three hours and ends it after the last. */
const scheduleFrom = (id: string) =>
  house.deps.db.run(sql`
  UPDATE batch_exports SET planned_until = '2026-01-01T00:00:00.000000Z',
    next_run_at = '2026-01-01T01:00:00.000000Z', end_at = '2026-01-01T03:00:00.000000Z'
    WHERE id = ${id}`);

async function until(
  ask: () => Promise<Answer>,
  isReached: (body: Answer['body']) => boolean,
): Promise<Answer['body']> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const { body } = await ask();
    if (isReached(body)) return body;
    assert.ok(performance.now() < deadline, `was not reached: ${JSON.stringify(body)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function withEvents(prefix: string, body: Record<string, unknown> = {}) {
  const home = await house.newOrganization();
  await insertEvents(home);
  const made = await newExport(house, home, {
    destination: { type: 'File', config: { prefix } },
    ...body,
  });
  const url = `${projectBase(home)}${made.id}/`;
  const get = (path: string) => house.request('GET', `${url}${path}`, { key: home.key });
  const send = (method: string, path: string, sent?: unknown) =>
    house.request(method, `${url}${path}`, {
      key: home.key,
      ...(sent === undefined ? {} : { body: sent }),
    });
  return { home, made, get, send };
}

async function eventsIn(prefix: string): Promise<string[]> {
  const names = (await readdir(join(folder, prefix))).filter((name) => name.endsWith('.jsonl'));
  const texts = await Promise.all(
    names.map((name) => readFile(join(folder, prefix, name), 'utf8')),
  );
  return texts
    .flatMap((text) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { event: string }).event),
    )
    .toSorted();
}

const all_events = Array.from({ length: 30 }, (_, number) => `event ${number}`).toSorted();
const startOnce = async () => {
  worker ??= await startWorker(engine(), { runs_max: 2, project_runs_max: 2, host_runs_max: 2 });
};

test('a run that is cancelled before a worker takes it ends as Cancelled, and a retry delivers it', async () => {
  const { made, get, send } = await withEvents('cancelled');
  await scheduleFrom(made.id);
  while ((await planDueExports(engine())) > 0);
  const [run] = (await get('runs/?ordering=data_interval_start')).body.results;
  assert.equal(run.cancel_requested_at, null);
  const asked = (await send('POST', `runs/${run.id}/cancel/`)).body;
  assert.deepEqual([asked.status, asked.cancel_requested_at], ['Starting', asked.last_updated_at]);
  await startOnce();
  const ended = await until(
    () => get(`runs/${run.id}/`),
    (body) => body.finished_at !== null,
  );
  assert.deepEqual([ended.status, ended.error_code], ['Cancelled', 'cancelled']);
  const retried = await send('POST', `runs/${run.id}/retry/`);
  assert.equal(retried.status, 200, retried.text);
  await until(
    () => get('runs/?status=Completed'),
    (body) => body.results.length === 3,
  );
  assert.deepEqual(await eventsIn('cancelled'), all_events);
});

test(
  'scheduled runs deliver each hour once; receipt, logs and files agree; a backfill of what is ' +
    'there adds nothing',
  async () => {
    await startOnce();
    const { made, get, send } = await withEvents('scheduled');
    await scheduleFrom(made.id);
    const { results } = await until(
      () => get('runs/?status=completed&ordering=data_interval_start'),
      (body) => body.results.length === 3,
    );
    assert.deepEqual(
      results.map((run: { data_interval_start: string; records_completed: number }) => [
        run.data_interval_start,
        run.records_completed,
      ]),
      [
        ['2026-01-01T00:00:00.000000Z', 10],
        ['2026-01-01T01:00:00.000000Z', 10],
        ['2026-01-01T02:00:00.000000Z', 10],
      ],
    );
    assert.deepEqual(await eventsIn('scheduled'), all_events);
    const { text, body: receipt } = await get(`runs/${results[0].id}/receipt/`);
    assert.deepEqual(readReceipt(text, house.deps.secrets.public_key)?.run_id, results[0].id);
    assert.equal(
      readReceipt(text.replace('"records":10', '"records":11'), house.deps.secrets.public_key),
      undefined,
    );
    assert.deepEqual(
      [receipt.records, receipt.bytes, receipt.delivery_id],
      [10, results[0].bytes_completed, results[0].delivery_id],
    );
    assert.ok(
      (await get(`runs/${results[0].id}/logs/`)).body.results.some(
        (line: { message: string }) => line.message === 'Run completed.',
      ),
    );
    assert.deepEqual((await get('')).body.latest_runs.length, 3);
    const range = {
      start_at: '2026-01-01T00:00:00.000000Z',
      end_at: '2026-01-01T03:00:00.000000Z',
    };
    const counts = [];
    for (const mode of ['missing', 'all'])
      counts.push(
        (await send('POST', 'backfill/', { ...range, mode, dry_run: true })).body.backfill.progress
          .records_total_count,
      );
    assert.deepEqual(counts, [0, 30]);
    const { backfill } = (await send('POST', 'backfill/', range)).body;
    const over = await until(
      () => get(`backfills/${backfill.id}/`),
      (body) => body.finished_at !== null,
    );
    assert.deepEqual(
      [over.status, over.progress],
      [
        'Completed',
        {
          total_runs: 3,
          finished_runs: 3,
          completed_runs: 3,
          records_completed: 0,
          records_total_count: 0,
          records_elsewhere: 30,
        },
      ],
    );
    assert.deepEqual(await eventsIn('scheduled'), all_events);
    const again = (await send('POST', 'backfill/', { ...range, mode: 'all' })).body.backfill;
    assert.equal(
      (
        await until(
          () => get(`backfills/${again.id}/`),
          (body) => body.finished_at !== null,
        )
      ).progress.records_completed,
      30,
    );
    assert.equal((await eventsIn('scheduled')).length, 60);
  },
);

test('a failed run is retried at the place that the export was changed to', async () => {
  await startOnce();
  await writeFile(join(folder, 'taken'), 'a file where the folder should be');
  const { made, get, send } = await withEvents('taken/inside');
  await scheduleFrom(made.id);
  const { results } = await until(
    () => get('runs/?status=Failed&ordering=data_interval_start'),
    (body) => body.results.length === 3,
  );
  assert.equal(results[0].error_code, 'invalid_path');
  assert.equal(
    (await send('PATCH', '', { destination: { config: { prefix: 'free' } } })).status,
    200,
  );
  for (const run of results)
    assert.equal((await send('POST', `runs/${run.id}/retry/`)).status, 200);
  await until(
    () => get('runs/?status=Completed'),
    (body) => body.results.length === 3,
  );
  assert.deepEqual(await eventsIn('free'), all_events);
  assert.equal((await send('POST', `runs/${results[0].id}/retry/`)).status, 409);
});

test('unpausing with backfill makes up for every interval that was missed', async () => {
  await startOnce();
  const { made, get, send } = await withEvents('unpaused', { paused: true });
  await scheduleFrom(made.id);
  assert.equal((await send('POST', 'unpause/', { backfill: true })).body.paused, false);
  await until(
    () => get('runs/?status=Completed'),
    (body) => body.results.length === 3,
  );
  assert.deepEqual(await eventsIn('unpaused'), all_events);
});

test('what a pause left out is delivered by the backfill that the log names, whenever it happened', async () => {
  await startOnce();
  const { home, made, get, send } = await withEvents('left_out', { paused: true });
  const hour = Math.floor(house.deps.clock.now() / hour_ms) * hour_ms;
  await house.deps.db.run(
    sql`UPDATE batch_exports SET planned_until = ${new Date(hour - 3 * hour_ms).toISOString()}
      WHERE id = ${made.id}`,
  );
  const lateness = [0, 0, 0, 40 * hour_ms, 9_000 * hour_ms, -hour_ms * 30, 5 * hour_ms];
  const taken = (number: number) => hour - 3 * hour_ms + number * 25 * 60_000;
  await insertAt(
    home,
    lateness.map((late, number) => ({
      event: `paused ${number}`,
      happened: taken(number) - late,
      taken: taken(number),
    })),
  );
  assert.equal((await send('POST', 'unpause/')).status, 200);
  const [{ message }] = (await get('logs/?search=Unpaused')).body.results;
  const { backfill } = (await send('POST', 'backfill/', JSON.parse(/\{.*\}/.exec(message)![0])))
    .body;
  assert.deepEqual([backfill.by, backfill.runs], ['inserted_at', 3]);
  await until(
    () => get(`backfills/${backfill.id}/`),
    (body) => body.status === 'Completed',
  );
  assert.deepEqual(
    await eventsIn('left_out'),
    lateness.map((_, number) => `paused ${number}`),
  );
});

test('a destination is tested and previewed, before and after the export is made', async () => {
  const { home, made, send } = await withEvents('tested', { paused: true });
  const draft = (config: object) => ({
    name: 'x',
    interval: 'hour',
    destination: { type: 'File', config },
  });
  const post = (path: string, body: unknown) =>
    house.request('POST', `${projectBase(home)}${path}`, { key: home.key, body });
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
  await writeFile(join(folder, 'blocked'), '');
  assert.ok(!(await readdir(folder)).includes('probe'), 'a test leaves no folder');
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
      parquet.records,
      Buffer.from(parquet.base64, 'base64').subarray(0, 4).toString(),
    ],
    [null, 10, 'PAR1'],
  );
  assert.equal((await send('GET', '')).body.last_updated_at, made.last_updated_at);
});

test(
  'the same small slice is asked for once, and another project, filter or format is a question ' +
    'of its own',
  async () => {
    const home = await house.newOrganization();
    await insertEvents(home);
    let asked = 0;
    const clickhouse = Object.create(house.deps.clickhouse) as Engine['clickhouse'];
    clickhouse.exec = (question) => (++asked, house.deps.clickhouse.exec(question));
    const slice = { number: 0, inserted_from: null, inserted_to: null, records: 10, outcome: null };
    const selection = [
      { event_from: null, event_to: null, inserted_from: from, inserted_to: from + hour_ms },
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
        await openReading(engine(), { ...source, selection }),
        columnsOf(source, 'files'),
      ];
      return text(
        await streamSliceOnce(
          { ...engine(), clickhouse },
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
  },
);
