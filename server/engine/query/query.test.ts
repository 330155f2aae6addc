import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { fileFormats } from '../destination/encoding.ts';
import type { Encoding } from '../destination/encoding.ts';
import { selectFor } from '../formats/select.ts';
import { models } from '../models/index.ts';
import { checkQuery, printQuery, readRows, readSql, settings } from './cases/run_query.ts';
import { foreign_mark, january, openTwoProjects } from './cases/two_projects.ts';
import type { TwoProjects } from './cases/two_projects.ts';
import { checkByEngine, gateRelation } from './gate/check_by_engine.ts';
import { findForeignNode } from './gate/gate.ts';
import { QueryError } from './query_error.ts';
import { resolveQuery } from './query.ts';
import { querySettings } from './settings.ts';

let stores: TestStores;
let projects: TwoProjects;
before(async () => {
  stores = await openTestStores({ clickhouse: true });
  projects = await openTwoProjects(
    stores.clickhouse_url,
    join(import.meta.dirname, '../../../migrations/clickhouse'),
  );
});
after(async () => {
  await projects?.close();
  await stores?.close();
});

test('the columns of an export follow from the query alone', () => {
  const text = `SELECT uuid, event AS name, properties, properties.$browser, timestamp,
    toDate(timestamp) AS day, length(event) AS n, 1.5 AS f, is_test, cityHash64(event) AS h,
    [event] AS list, person.properties.plan IS NULL AS gone, count
      FROM (SELECT *, event = 'test' AS is_test, NULL AS count FROM events)`;
  assert.throws(
    () => resolveQuery(text, { model: 'events' }),
    QueryError,
    'a subquery has no person',
  );
  const { columns } = resolveQuery(
    text.replace('person.properties.plan', 'person_properties.plan'),
    { model: 'events' },
  );
  assert.deepEqual(
    columns.map(({ name, type, nullable }) => `${name} ${type}${nullable ? ' null' : ''}`),
    [
      'uuid uuid',
      'name text',
      'properties json',
      '$browser text null',
      'timestamp timestamp',
      'day text',
      'n integer',
      'f float',
      'is_test boolean',
      'h text',
      'list json',
      'gone boolean',
      'count text null',
    ],
  );
});

test(
  'the schema of the API has the text of each column, its name and the contents of its ' +
    'placeholders',
  () => {
    const { fields, values } = resolveQuery(
      "SELECT event, concat(event, 'x') AS y, properties.a FROM events WHERE event = 'hidden'",
      { model: 'events' },
    );
    assert.deepEqual(
      fields.map(({ alias }) => alias),
      ['event', 'y', 'a'],
    );
    assert.deepEqual(
      [fields[0]?.expression, fields[1]?.expression.replace(/p\d/, 'p')],
      ['t0_event', 'concat(t0_event, {p:String})'],
    );
    assert.deepEqual(Object.values(values), ['x']);
  },
);

test('a query is row-wise where each of its rows stands for one row of the model’s table', () => {
  const rowWise = [
    'SELECT * FROM events',
    'SELECT lower(event) AS e FROM events WHERE event IN (SELECT event FROM events) AND ' +
      'properties.a > 1',
    'SELECT (SELECT count() FROM persons) AS n, uuid FROM events AS e',
  ];
  const whole = [
    'SELECT count() AS n FROM events',
    'SELECT event FROM events GROUP BY event',
    'SELECT DISTINCT event FROM events',
    'SELECT event FROM events LIMIT 5',
    'SELECT event FROM events ORDER BY event',
    'SELECT event FROM (SELECT event FROM events)',
    'SELECT event FROM events UNION ALL SELECT event FROM events',
    'SELECT e.event FROM events e JOIN persons p ON e.person_id = p.person_id',
    'SELECT distinct_id FROM persons',
    'SELECT arrayJoin([1, 2]) AS x FROM events',
    'SELECT event FROM events WHERE arrayJoin([1, 2]) = 1',
    'SELECT count() OVER () AS n FROM events',
    'WITH events AS (SELECT * FROM events) SELECT event FROM events',
    'SELECT event FROM events LIMIT 1 BY event',
  ];
  for (const text of rowWise)
    assert.equal(resolveQuery(text, { model: 'events' }).is_row_wise, true, text);
  for (const text of whole)
    assert.equal(resolveQuery(text, { model: 'events' }).is_row_wise, false, text);
  assert.equal(
    resolveQuery('SELECT distinct_id FROM persons', { model: 'persons' }).is_row_wise,
    true,
  );
});

test('a row-wise query can be cut by insertion time and has the order and key of its model', async () => {
  for (const model of ['events', 'persons'] as const) {
    const checked = await checkQuery(
      projects.both,
      `SELECT distinct_id AS inserted_at, properties.n AS uuid FROM ${model}`,
      model,
      january,
    );
    const { relation } = checked;
    assert.equal(relation.order, models[model].order);
    const slice = async (condition: string) =>
      readSql(
        projects.both,
        `SELECT ${models[model].key}, column_1 FROM ${relation.text} WHERE ${condition}
          ORDER BY ${relation.order}`,
        relation.parameters,
      );
    const parts = [
      await slice("inserted_at < '2024-01-10'"),
      await slice("inserted_at >= '2024-01-10'"),
    ];
    assert.ok(parts.every((part) => part.length > 0));
    assert.deepEqual(parts.flat(), await slice('1'));
  }
});

test('every row of a run is within its selection, look-ups see all that was there when it ended', async () => {
  const days = (from: number, to: number) => ({
    event_from: Date.UTC(2024, 0, from),
    event_to: Date.UTC(2024, 0, to),
    inserted_from: Date.UTC(2024, 0, from),
    inserted_to: Date.UTC(2024, 0, to),
  });
  const run = { ...january, selection: [days(6, 7), days(10, 11)] };
  const read = async (text: string) =>
    readRows(projects.both, await checkQuery(projects.both, text, 'events', run));
  assert.deepEqual(await read('SELECT event, count() AS n FROM events GROUP BY event'), [
    ['page view', 2],
    ['purchase', 2],
  ]);
  assert.deepEqual(
    await read(
      'SELECT e.distinct_id AS d, any_version FROM events e JOIN (SELECT distinct_id, ' +
        'max(person_version) AS any_version FROM persons GROUP BY distinct_id) p ON ' +
        'e.distinct_id = p.distinct_id LIMIT 1',
    ),
    [['d1', 2]],
  );
  assert.deepEqual(await read('SELECT distinct_id FROM persons'), [['d2']]);
  assert.deepEqual(
    await read(
      'SELECT (SELECT count() FROM persons) AS people, (SELECT count() FROM events) AS ' +
        'events, now() AS n FROM events LIMIT 1',
    ),
    [[3, 4, '2024-02-01T00:00:00.000000Z']],
  );
  assert.deepEqual(
    await readRows(
      projects.both,
      printQuery('SELECT event FROM events', 'events', { ...january, selection: [] }),
    ),
    [],
  );
});

test('every format writes the columns of a query', async () => {
  const text = `SELECT uuid, event, properties, properties.price AS price, timestamp,
    toDate(timestamp) AS day, length(event) AS n, toFloat64(properties.n) AS f,
    properties.ok = true AS ok, [event] AS list,
    map('a', 1) AS m, (event, 1) AS t, NULL AS nothing, cityHash64(event) AS h,
      lag(event) OVER (ORDER BY timestamp) AS before FROM events`;
  const { query, relation } = printQuery(text, 'events', january);
  const encodings: Encoding[] = [
    ...fileFormats.map((format) => ({ format, compression: null })),
    { format: 'TabSeparated', compression: null },
  ];
  for (const encoding of encodings) {
    const select = selectFor(encoding, query.columns);
    const { stream } = await projects.both.exec({
      query: `SELECT ${select.expressions} FROM ${relation.text} ORDER BY ${relation.order}
        FORMAT ${select.format}`,
      query_params: relation.parameters,
      clickhouse_settings: { ...settings, ...select.settings },
      use_multipart_params_auto: true,
    });
    const bytes: Buffer[] = [];
    for await (const chunk of stream) bytes.push(chunk as Buffer);
    const written = Buffer.concat(bytes);
    if (encoding.format === 'JSONLines')
      assert.deepEqual(
        Object.keys(JSON.parse(written.toString().split('\n')[0]!) as object),
        query.columns.map(({ name }) => name),
      );
    assert.ok(written.length > 0, encoding.format);
    assert.doesNotMatch(written.toString(), foreign_mark);
  }
});

test('the gate lets nothing pass that the printer does not write', async () => {
  const texts = [
    'SELECT * FROM system.one',
    'SELECT * FROM default.events',
    'SELECT * FROM other',
    'SELECT * FROM numbers(1)',
    "SELECT * FROM (SELECT * FROM url('http://127.0.0.1'))",
    "SELECT file('/etc/passwd')",
    'SELECT 1 SETTINGS max_threads = 1',
    'SELECT * FROM (SELECT 1 SETTINGS max_threads = 1)',
    'SELECT rand()',
    "SELECT dictGet('a', 'b', 1)",
    'SELECT 1 IN other',
    'SELECT 1 IN events',
    'SELECT 1 FROM events WHERE uuid IN (persons)',
    'SELECT hostName() FROM events',
    'SELECT * FROM events AS e ARRAY JOIN [1] AS x',
    'SELECT sleep(1)',
    "SELECT COLUMNS('.*') FROM events",
    'SELECT * EXCEPT event FROM events',
    '(SELECT 1) INTERSECT (SELECT 1)',
    'SELECT x.y.z FROM events',
    'SELECT event FROM events FORMAT JSON',
    "SELECT event FROM merge('default', 'x')",
    'WITH x AS (SELECT 1) SELECT * FROM x',
    'SELECT _part.x FROM events',
  ];
  for (const text of texts) {
    const rows = await readExplain(text);
    assert.notEqual(findForeignNode(rows), undefined, text);
  }
  assert.equal(
    findForeignNode(
      await readExplain('SELECT count() AS c1 FROM (SELECT * FROM events WHERE team_id = 1) AS t0'),
    ),
    undefined,
  );
  assert.notEqual(findForeignNode([]), undefined);
  assert.notEqual(
    findForeignNode(['SelectWithUnionQuery (children 1)', 'SelectWithUnionQuery (children 1)']),
    undefined,
  );
  const { relation } = printQuery('SELECT event FROM events', 'events', january);
  for (const text of [
    '(SELECT 1); SELECT 2',
    '(SELECT * FROM events); DROP TABLE persons',
    '(SELECT * FROM numbers(1))',
  ])
    await assert.rejects(
      gateRelation({ clickhouse: projects.both, settings }, { ...relation, text }),
      text,
    );
  assert.equal((await readSql(projects.both, 'SELECT count() > 0 FROM persons'))[0]?.[0], 1);
});

async function readExplain(text: string): Promise<string[]> {
  const { stream } = await projects.both.exec({ query: `EXPLAIN AST ${text}` });
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks)
    .toString()
    .split('\n')
    .filter((line) => line !== '');
}

test('what only ClickHouse finds wrong is an error of the query, at the piece that it is about', async () => {
  const cases: [string, RegExp, string][] = [
    ["SELECT match(event, '(') AS x FROM events", /not one of RE2/, "'('"],
    [
      "SELECT extract(event, 'a') AS x, match(event, '[z-a]') AS y FROM events",
      /not one of RE2/,
      "'[z-a]'",
    ],
    ["SELECT format('{', event) AS x FROM events", /`format`/, 'format'],
    [
      'SELECT intDiv(1, 0) AS x FROM events',
      /divides by zero/,
      'SELECT intDiv(1, 0) AS x FROM events',
    ],
    [
      'SELECT a.event FROM events a FULL JOIN events b ON a.timestamp < b.timestamp',
      /ON needs an equality/,
      'SELECT a.event FROM events a FULL JOIN events b ON a.timestamp < b.timestamp',
    ],
  ];
  for (const [text, words, piece] of cases) {
    await assert.rejects(
      checkByEngine(
        { clickhouse: projects.both, settings },
        resolveQuery(text, { model: 'events' }),
      ),
      (error: unknown) => {
        assert.ok(error instanceof QueryError, text);
        assert.match(error.message, words);
        assert.equal(error.faults[0].piece, piece);
        assert.doesNotMatch(error.message, /t0_|team_id|p0|column_1/);
        return true;
      },
    );
  }
});

test('the limits of the operator end a query, and nothing can be written under its settings', async () => {
  const limits = {
    execution_seconds: 1,
    memory_bytes: 50_000_000,
    rows_to_read: 5,
    result_rows: 3,
  };
  const ask = async (query: string, changed: Partial<typeof limits>) => {
    const wide = {
      execution_seconds: 60,
      memory_bytes: 1_000_000_000,
      rows_to_read: 1_000_000_000_000_000,
      result_rows: 1_000_000_000,
      ...changed,
    };
    return projects.both.command({ query, clickhouse_settings: querySettings(wide) });
  };
  await assert.rejects(
    ask('SELECT count() FROM numbers(100000000000)', {
      execution_seconds: limits.execution_seconds,
    }),
    { type: 'TIMEOUT_EXCEEDED' },
  );
  await assert.rejects(
    ask('SELECT length(groupArray(number)) FROM numbers(100000000)', {
      memory_bytes: limits.memory_bytes,
    }),
    {
      type: 'MEMORY_LIMIT_EXCEEDED',
    },
  );
  await assert.rejects(
    ask('SELECT count() FROM events WHERE NOT ignore(event)', {
      rows_to_read: limits.rows_to_read,
    }),
    { type: 'TOO_MANY_ROWS' },
  );
  await assert.rejects(ask('SELECT event FROM events', { result_rows: limits.result_rows }), {
    type: 'TOO_MANY_ROWS_OR_BYTES',
  });
  for (const statement of [
    'CREATE TABLE never (n Int8) ENGINE = Memory',
    'INSERT INTO persons SELECT * FROM persons',
    'TRUNCATE TABLE persons',
  ])
    await assert.rejects(ask(statement, {}), { type: 'READONLY' }, statement);
  await assert.rejects(ask('SELECT 1 SETTINGS readonly = 0', {}), { type: 'READONLY' });
});
