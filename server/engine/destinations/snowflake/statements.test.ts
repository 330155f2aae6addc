import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { isLasting } from '../../../../test/factories/batch_exports/deliveries.ts';
import { events } from '../../model/models/events.ts';
import { persons } from '../../model/models/persons.ts';
import type { Column } from '../../model/models/column.ts';
import { addressOf } from './config.ts';
import type { SnowflakeConfig } from './config.ts';
import { csvParts } from './csv_parts.ts';
import {
  showStatement,
  snowflakeColumnFaults,
  tableStatement,
  textExpression,
  valueExpression,
} from './table.ts';
import { assertSameSql } from '../../../../test/watchers/same_sql.ts';

const column = (name: string, type: Column['type'] = 'text', is_calculated = false): Column => ({
  name,
  type,
  nullable: true,
  expression: name,
  is_calculated,
});

test('the table of events is created with these types', () => {
  assertSameSql(
    tableStatement('"events"', { model: 'events', columns: events.columns.tables }),
    'CREATE TABLE IF NOT EXISTS "events" ("uuid" VARCHAR, "event" VARCHAR, "properties" ' +
      'VARIANT, "elements" VARIANT, "set" VARIANT, "set_once" VARIANT, "distinct_id" VARCHAR, ' +
      '"team_id" NUMBER(38, 0), "ip" VARCHAR, "site_url" VARCHAR, "timestamp" ' +
      'TIMESTAMP_NTZ(6), "inserted_at" TIMESTAMP_NTZ(6))',
  );
  assertSameSql(
    tableStatement('"a ""b"""', {
      model: 'events',
      columns: [column('x "y"', 'float'), column('z', 'boolean')],
    }),
    'CREATE TABLE IF NOT EXISTS "a ""b""" ("x ""y""" FLOAT, "z" BOOLEAN)',
  );
});

test('rows of events are inserted, and so are those of persons whose key a query has made', () => {
  const layout = { model: 'events' as const, columns: [column('uuid'), column('a "b"')] };
  assertSameSql(
    showStatement('"events"', '"stage"', layout),
    'INSERT INTO "events" ("uuid", "a ""b""") SELECT "uuid", "a ""b""" FROM "stage"',
  );
  const calculated = {
    model: 'persons' as const,
    columns: [column('team_id', 'integer'), column('distinct_id', 'text', true)],
  };
  assert.match(showStatement('"persons"', '"stage"', calculated), /^INSERT INTO/);
});

test('persons are merged by their key and versions', () => {
  const columns = persons.columns.tables.filter(({ name }) =>
    ['team_id', 'distinct_id', 'properties', 'person_version'].includes(name),
  );
  const rank = '"sluice_rank_among_the_rows_of_this_delivery_that_have_the_same_key_newest_first"';
  const list = '"team_id", "distinct_id", "properties", "person_version"';
  const merge = (order: string) =>
    `MERGE INTO "persons" AS there USING (SELECT ${list}
      FROM (SELECT ${list}, ROW_NUMBER() OVER (PARTITION BY "team_id", "distinct_id"
      ORDER BY ${order}) AS ${rank} FROM "stage") AS ranked ` +
    `WHERE ${rank} = 1) AS came ON there."team_id" = came."team_id"
      AND there."distinct_id" = came."distinct_id"`;
  const both = ['"properties"', '"person_version"'];
  const tie = (side: string, names = both.slice(0, 1)) => {
    const values = names.map((name) => `${side}${name}`).join(', ');
    return `CONCAT(HASH(${values}), ' ', HASH(0, ${values}))`;
  };
  const update =
    'THEN UPDATE SET "properties" = came."properties", "person_version" = came."person_version"';
  const insert =
    `WHEN NOT MATCHED THEN INSERT (${list}) VALUES (came."team_id", came."distinct_id", ` +
    'came."properties", came."person_version")';
  assertSameSql(
    showStatement('"persons"', '"stage"', { model: 'persons', columns }),
    `${merge(`"person_version" DESC NULLS LAST, ${tie('')} DESC`)} WHEN MATCHED AND
      (came."person_version" > there."person_version" OR (there."person_version" IS NULL
      AND came."person_version" IS NOT NULL) OR ((came."person_version" = there."person_version"
      OR (there."person_version" IS NULL AND came."person_version" IS NULL))
      AND (${tie('came.')} > ${tie('there.')}))) ${update} ${insert}`,
  );
  const unversioned = columns.map((one) =>
    one.name === 'person_version' ? { ...one, is_calculated: true } : one,
  );
  assertSameSql(
    showStatement('"persons"', '"stage"', { model: 'persons', columns: unversioned }),
    `${merge(`${tie('', both)} DESC`)} WHEN MATCHED AND (1 = 1) ${update} ${insert}`,
  );
  assert.doesNotMatch(
    showStatement('"persons"', '"stage"', { model: 'persons', columns: columns.slice(0, 2) }),
    /WHEN MATCHED/,
  );
});

test('values are made of text by the type of the column, and JSON by the type of the table', () => {
  const cases: [Column['type'], string, string][] = [
    ['uuid', 'TEXT', 'CAST("c1" AS VARCHAR)'],
    ['timestamp', 'TIMESTAMP_TZ', 'CAST("c1" AS TIMESTAMP_NTZ(6))'],
    ['integer', 'TEXT', 'CAST("c1" AS NUMBER(38, 0))'],
    ['json', 'VARIANT', `COALESCE(TRY_PARSE_JSON("c1", 'd'), TO_VARIANT("c1"))`],
    ['json', 'OBJECT', `CAST(COALESCE(TRY_PARSE_JSON("c1", 'd'), TO_VARIANT("c1")) AS OBJECT)`],
    ['json', 'TEXT', '"c1"'],
  ];
  for (const [type, there, expected] of cases)
    assertSameSql(valueExpression(column('x', type), '"c1"', new Map([['x', there]])), expected);
});

test('values are written by the type of their column, instants with all microseconds', () => {
  const cases: [Column['type'], string, string][] = [
    ['text', 'TEXT', 'CAST(t."x" AS VARCHAR)'],
    [
      'timestamp',
      'TIMESTAMP_NTZ',
      `TO_VARCHAR(CAST(t."x" AS TIMESTAMP_NTZ(6)), 'YYYY-MM-DD HH24:MI:SS.FF6')`,
    ],
    [
      'timestamp',
      'TEXT',
      `TO_VARCHAR(CAST(t."x" AS TIMESTAMP_NTZ(6)), 'YYYY-MM-DD HH24:MI:SS.FF6')`,
    ],
    ['json', 'VARIANT', 'TO_JSON(t."x")'],
    ['json', 'ARRAY', 'TO_JSON(t."x")'],
    ['json', 'TEXT', 'CAST(t."x" AS VARCHAR)'],
  ];
  for (const [type, there, expected] of cases)
    assertSameSql(textExpression(column('x', type), 't."x"', there), expected);
});

test('names that Snowflake keeps for itself are faults', () => {
  assertSameSql(
    [['uuid', 'METADATA'], ['metadata$action'], ['a\0b']].map(
      (names) => snowflakeColumnFaults(names.map((name) => column(name))).length,
    ),
    [0, 1, 1],
  );
});

test('an account is at a host of its own', () => {
  const cases: [Partial<SnowflakeConfig>, string][] = [
    [{ account: 'MyOrg-my_account' }, 'myorg-my-account.snowflakecomputing.com:443'],
    [
      { account: 'xy12345.eu-central-1.privatelink', host: '' },
      'xy12345.eu-central-1.privatelink.snowflakecomputing.com:443',
    ],
    [{ account: 'a-b', host: 'Snow.example.com:8443' }, 'snow.example.com:8443'],
  ];
  for (const [config, expected] of cases) {
    const { host, port } = addressOf(config as SnowflakeConfig);
    assertSameSql(`${host}:${port}`, expected);
  }
});

test('CSV keeps null, empty text and every character apart; no row is an empty line', async () => {
  const columns = [column('note'), column('at', 'timestamp')];
  const text =
    '\\N\t\\N\n\t1900-01-01T00:00:00.000001Z\n\\\\N ' +
    '"a",\\n\\té😀\\0\\x\t2020-01-01T00:00:00.000000Z\n';
  const parts = await Array.fromAsync(
    csvParts(
      columns,
      Readable.from([Buffer.from(text).subarray(0, 7), Buffer.from(text).subarray(7)]),
    ),
  );
  assertSameSql(
    (await buffer(Readable.from(parts.map((part) => gunzipSync(part))))).toString(),
    '1,,\n2,"","1900-01-01 00:00:00.000001"\n3,"\\N ""a"",\n\té😀\0x","2020-01-01 ' +
      '00:00:00.000000"\n',
  );
  // Snowflake counts the limit in bytes: two for each of these letters.
  const tooLong = Readable.from([Buffer.from(`${'é'.repeat(8_388_609)}\t\\N\n`)]);
  await assert.rejects(Array.fromAsync(csvParts(columns, tooLong)), isLasting('limit_exceeded'));
  assertSameSql(await Array.fromAsync(csvParts(columns, Readable.from([]))), []);
});
