import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileFormats } from '../model/destination/encoding.ts';
import type { Encoding } from '../model/destination/encoding.ts';
import { selectFor } from '../destinations/formats/select.ts';
import { models } from '../model/models/index.ts';
import {
  checkQuery,
  printQuery,
  readRows,
  readSql,
  settings,
} from '../../../test/query_cases/run_query.ts';
import { foreign_mark, january } from '../../../test/query_cases/two_projects.ts';
import { QueryError } from './query_error.ts';
import { resolveQuery } from './query.ts';
import { openAroundTests, projects } from '../../../test/factories/batch_exports/query_projects.ts';

openAroundTests();

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

test('the schema of the API has the text, the name and the placeholders of each column', () => {
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
});

test('a query is row-wise where each of its rows stands for one row of the model’s table', () => {
  const rowWise = [
    'SELECT * FROM events',
    'SELECT lower(event) AS e FROM events WHERE event IN (SELECT event FROM events) AND ' +
      'properties.a > 1',
    'SELECT (SELECT count() FROM persons) AS n, uuid FROM events AS e',
    "SELECT * EXCEPT (uuid), properties.a ?? '' AS a, toTimeZone(timestamp, 'UTC') AS t FROM " +
      'events',
  ];
  const whole = [
    'SELECT count() AS n FROM events',
    'SELECT any(event) AS e FROM events',
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

test('a row-wise query can be cut by insertion time, in the order of its model', async () => {
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

test('rows of a run are within its selection, look-ups see all up to its end', async () => {
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
