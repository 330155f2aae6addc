import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TestOrganization } from '../../../../test/harness.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { NonRetryableError, RetryableError } from '../../../engine/model/destination/errors.ts';
import { openSourceQuery } from '../../../engine/exports/source/source_query.ts';
import { streamSlice } from '../../../engine/exports/source/source.ts';
import { inQueryTurn } from '../../../platform/http/limits/owner_turns.ts';

const events_count = 40_000;
let exporting: QueryHarness;
let home: TestOrganization;
before(async () => {
  exporting = await openQueryHarness({
    clickhouse: 'own',
    config: {
      query_seconds_max: 30,
      query_memory_mb_max: 64,
      query_memory_total_mb: 256,
      query_rows_max: 300_000,
    },
  });
  home = await exporting.harness.newOrganization();
  // Two kilobytes each, so that all of them together are more than the memory that a query has; the
  // last one is unlike the others.
  await exporting.harness.deps.clickhouse.command({
    query: `INSERT INTO events (team_id, uuid, event, distinct_id, person_id, properties,
      person_properties, elements_chain, timestamp, created_at, inserted_at)
      SELECT {team_id:Int64}, generateUUIDv4(), toString(number), 'd', generateUUIDv4(),
        concat('{"n":', toString({count:UInt64} - 1 - number), ',"s":"', char(97 + number % 26),
        repeat(toString(cityHash64(number)), 100), '"}'),
        '', '', at, at, at FROM (SELECT number, toDateTime64('2026-01-01 00:10:00', 6,
          'UTC') + toIntervalMicrosecond(number) AS at FROM numbers({count:UInt64}))`,
    query_params: { team_id: home.project.id, count: events_count },
  });
});
after(() => exporting.close());

const joined = Array.from({ length: 6 }, (_, n) => `CROSS JOIN events e${n}`).join(' ');

test('a query that takes too much fails its run with help, and the next run works', async () => {
  const cases: [string, string, RegExp][] = [
    [
      `SELECT sum(length(e.event)) AS n FROM events e ${joined}`,
      'query_too_expensive',
      /seconds.*SLUICE_QUERY_SECONDS_MAX/,
    ],
    [
      'SELECT groupArray(properties) AS a FROM events',
      'query_too_expensive',
      /64 MiB.*SLUICE_QUERY_MEMORY_MB_MAX/,
    ],
    [
      Array(8).fill('SELECT event FROM events').join(' UNION ALL '),
      'query_too_expensive',
      /300000: .*SLUICE_QUERY_ROWS_MAX/,
    ],
    [
      "SELECT toInt64(concat('x', event)) AS n FROM events",
      'query_failed',
      /^Line 1, column 8: `toInt64`: A text in this expression cannot be converted/,
    ],
    ['SELECT intDiv(1, event::Int64) AS n FROM events', 'query_failed', /This divides by zero/],
    [
      'SELECT event, (SELECT event FROM events) AS one FROM events',
      'query_failed',
      /gives more than one row/,
    ],
  ];
  const { engine } = exporting.harness.deps;
  const usual = engine.query_limits;
  for (const [number, [custom_query, code, sentence]] of cases.entries()) {
    // The first one would not end; the time of the others is not the point.
    engine.query_limits = number === 0 ? { ...usual, execution_seconds: 2 } : usual;
    const destination = { type: 'File', config: { prefix: `limit_${number}` } };
    const created = await exporting.scheduled(home, { destination, custom_query }, 1);
    const [run] = await exporting.runAll(created.id);
    assert.deepEqual(
      [run!.status, run!.error_code],
      ['Failed', code],
      `${custom_query}: ${run!.latest_error}`,
    );
    assert.match(run!.latest_error!, sentence);
  }
  const next = {
    destination: { type: 'File', config: { prefix: 'after' } },
    custom_query: 'SELECT count() AS n FROM events',
  };
  const [run] = await exporting.runAll((await exporting.scheduled(home, next, 1)).id);
  assert.equal(run!.status, 'Completed');
  assert.equal(String(await exporting.filesIn('after', '.jsonl')), `{"n":${events_count}}\n`);
});

test('a preview of a query that takes too much, or fails, is a 400 that says so', async () => {
  const draft = {
    name: 'x',
    interval: 'hour',
    destination: { type: 'File', config: { prefix: 'preview' } },
  };
  for (const [custom_query, sentence] of [
    ['SELECT groupArray(properties) AS a FROM events', /64 MiB/],
    ["SELECT toInt64(concat('x', event)) AS n FROM events", /Line 1, column 8/],
    [
      'SELECT substring(event, 9)::Int64 AS n FROM events',
      /column 27: `::`: A text in this expression cannot be/,
    ],
    [
      "SELECT concat('922337203685477580', event, '9')::Int64 AS n FROM events",
      /A text in this expression/,
    ],
    ['SELECT toUInt64(substring(event, 9)) AS n FROM events', /column 8: `toUInt64`: A text/],
    ['SELECT toBool(event) AS n FROM events', /column 8: `toBool`: .* neither true nor false/],
    [
      'SELECT toDate(event) AS n FROM events',
      /column 8: `toDate`: A text in this expression is not a timestamp/,
    ],
  ] as const) {
    const answer = await home.ask(
      'POST',
      `/api/projects/${home.project.id}/batch_exports/preview/`,
      { ...draft, custom_query },
    );
    assert.deepEqual([answer.status, answer.body.attr], [400, 'custom_query']);
    assert.match(answer.body.detail, sentence);
  }
});

test('two queries of an organization are read while requests wait, whatever projects', async () => {
  const other = await exporting.harness.newOrganization();
  const held = Promise.withResolvers<void>();
  const turns = [1, 2].map(() => inQueryTurn(home.organization.id, () => held.promise));
  const answered: string[] = [];
  const preview = async (name: string, { ask, project }: TestOrganization, changes: object) => {
    const body = {
      name,
      interval: 'hour',
      destination: { type: 'File', config: { prefix: 'turn' } },
      ...changes,
    };
    const { status } = await ask(
      'POST',
      `/api/projects/${project.id}/batch_exports/preview/`,
      body,
    );
    answered.push(`${name} ${status}`);
  };
  const custom_query = 'SELECT count() AS n FROM events';
  const waiting = preview('third', home, { custom_query });
  await preview('without', home, {});
  await preview('other', other, { custom_query });
  assert.deepEqual(answered, ['without 200', 'other 200']);
  held.resolve();
  await Promise.all([...turns, waiting]);
  assert.equal(answered.at(-1), 'third 200');
});

test('the time of the destination is not the query’s; a late fault is explained', async () => {
  const harness = exporting.harness.deps.engine;
  const engine = { ...harness, query_limits: { ...harness.query_limits, execution_seconds: 30 } };
  const all = [{ event_from: null, event_to: null, inserted_from: null, inserted_to: null }];
  const slice = {
    number: 0,
    inserted_from: null,
    inserted_to: null,
    records: events_count,
    outcome: null,
  };
  const read = async (
    custom_query: string,
    store: typeof engine,
    pause_ms: number,
    streaming = store,
  ) => {
    const reading = await openSourceQuery(store, {
      team_id: home.project.id,
      model: 'events',
      selection: all,
      custom_query,
      destination_config: null,
      data_interval_end: '2026-01-01T01:00:00Z',
    });
    const stream = await streamSlice(
      streaming,
      reading,
      slice,
      reading.query!.columns,
      { format: 'JSONLines', compression: null },
      new AbortController().signal,
    );
    let bytes = 0;
    for await (const chunk of stream) {
      for (const began = performance.now(); bytes === 0 && performance.now() - began < pause_ms;)
        await new Promise((resolve) => setTimeout(resolve, 10));
      bytes += (chunk as Buffer).length;
    }
    return bytes;
  };
  const hasty = {
    ...engine,
    query_limits: { ...engine.query_limits, execution_seconds: 6, memory_bytes: 1_000_000_000 },
  };
  // 20 MB: more than what is under way between the store and who reads.
  const many = events_count / 4;
  const first = `SELECT event, properties FROM events WHERE event::Int64 < ${many}`;
  assert.ok((await read(first, hasty, 6_200)) > many * 1_000);
  const isExplained = (error: unknown) =>
    error instanceof RetryableError
      ? error.code === 'query_interrupted'
      : error instanceof NonRetryableError && error.code === 'query_too_expensive';
  await assert.rejects(read('SELECT event, properties FROM events', engine, 0), isExplained);
  const roomy = {
    ...engine,
    query_limits: { ...engine.query_limits, memory_bytes: 1_000_000_000 },
  };
  const late = { ...hasty, query_limits: { ...hasty.query_limits, execution_seconds: 0.001 } };
  await assert.rejects(read(first, hasty, 0, late), {
    code: 'query_too_expensive',
    message: /exceeds its limit of 0\.001 seconds: narrow it/,
  });
  // The last row of this query fails, after all others have arrived.
  const last = `FROM events WHERE event::Int64 >= ${events_count - 12_000}`;
  await assert.rejects(
    read(`SELECT event, properties, intDiv(1, properties.n::Int64) AS n ${last}`, roomy, 0),
    {
      code: 'query_failed',
      message: /divides by zero/,
    },
  );
});

test('large queries of one project wait for each other, not for other projects', async () => {
  const { query_budget, config } = exporting.harness.deps;
  const bytes = config.query_memory_mb_max * 1024 * 1024;
  const forever = new AbortController().signal;
  const held = [
    await query_budget.take(home.project.id, bytes, forever),
    await query_budget.take(home.project.id, bytes, forever),
  ];
  const custom_query = 'SELECT count() AS n FROM events';
  const own = exporting.runAll(
    (
      await exporting.scheduled(
        home,
        { destination: { type: 'File', config: { prefix: 'waits' } }, custom_query },
        1,
      )
    ).id,
  );
  const other = await exporting.harness.newOrganization();
  const goes = { destination: { type: 'File', config: { prefix: 'goes' } }, custom_query };
  const created = await exporting.scheduled(other, goes, 1);
  assert.equal((await exporting.runAll(created.id))[0]!.status, 'Completed');
  assert.deepEqual(await exporting.filesIn('waits', '.jsonl'), []);
  for (const giveBack of held) giveBack();
  assert.equal((await own)[0]!.status, 'Completed');
});
