import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readable } from 'node:stream';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Column } from '../../model/models/column.ts';
import { persons } from '../../model/models/persons.ts';
import type { RedshiftConfig } from './config.ts';
import { nullMarker, stagedFolder } from './copy_stage.ts';
import { copyStatement, manifestOf } from './copy_statement.ts';
import { partsOf } from '../sql_tables/receipts.ts';
import { csvLine, insertsOf, rowsOf } from './rows.ts';
import type { Row } from './rows.ts';
import {
  redshiftColumnFaults,
  receiptsStatement,
  showStatements,
  sliceTableStatement,
  stageStatement,
  tableStatement,
  textOf,
} from './table.ts';
import { textsQuery } from '../sql_tables/prepare.ts';
import { quoted } from '../sql_tables/layout.ts';
import { assertSameSql } from '../../../../test/watchers/same_sql.ts';

const config: RedshiftConfig = {
  user: 'u',
  password: 'p',
  host: 'h',
  database: 'd',
  bucket_name: 'loads',
  region: 'eu-central-1',
};

const column = (name: string, type: Column['type'], rest: Partial<Column> = {}): Column => ({
  name,
  type,
  nullable: true,
  expression: name,
  ...rest,
});

const target = { quoted: '"s"."t"', table: 't' };
const two = [column('uuid', 'uuid'), column('say "x"', 'json')];

const none: ReadonlySet<string> = new Set();

const words = {
  quoted,
  textOf: (_column: unknown, name: string, type: string | undefined) => textOf(name, type),
};

test('the statements are those of the manual', () => {
  const create = (given: RedshiftConfig) =>
    tableStatement('"s"."t"', given, { model: 'events', columns: contractColumns });
  const cases: [string, string][] = [
    [
      create(config),
      'CREATE TABLE IF NOT EXISTS "s"."t" ("uuid" varchar(36), "event" varchar(65535), ' +
        '"properties" varchar(65535), "note" varchar(65535), "timestamp" timestamptz, "amount" ' +
        'bigint, "ratio" double precision, "is_new" boolean)',
    ],
    [
      create({ ...config, properties_data_type: 'super' }),
      'CREATE TABLE IF NOT EXISTS "s"."t" ("uuid" varchar(36), "event" varchar(65535), ' +
        '"properties" super, "note" varchar(65535), "timestamp" timestamptz, "amount" bigint, ' +
        '"ratio" double precision, "is_new" boolean)',
    ],
    [
      receiptsStatement('"s".sluice_receipts'),
      'CREATE TABLE IF NOT EXISTS "s".sluice_receipts (delivery_id varchar(36) NOT NULL, part ' +
        'integer NOT NULL, batch_export_id varchar(36) NOT NULL, run_id varchar(36) NOT NULL, ' +
        'table_name varchar(512) NOT NULL, records bigint NOT NULL, manifest varchar(65535) NOT ' +
        'NULL, delivered_at timestamp NOT NULL DEFAULT GETDATE())',
    ],
    [
      stageStatement('"s"."t"', two),
      'CREATE TEMPORARY TABLE sluice_stage AS SELECT "uuid", "say ""x""" FROM "s"."t" LIMIT 0',
    ],
    [
      sliceTableStatement('"s"."sluice_stage_1"', '"sluice_write"', '"s"."t"', two),
      'CREATE TABLE "s"."sluice_stage_1" AS SELECT CAST(0 AS bigint) AS "sluice_write", ' +
        '"uuid", "say ""x""" FROM "s"."t" LIMIT 0',
    ],
    [
      showStatements(target, { model: 'events', columns: two }, 'sluice_stage').join('; '),
      'INSERT INTO "s"."t" ("uuid", "say ""x""") SELECT "uuid", "say ""x""" FROM sluice_stage',
    ],
    [
      textsQuery(words, '"s"."t"', { model: 'events', columns: two, team_id: 7 }, [
        { name: 'UUID', type: 'super' },
        { name: 'say "x"', type: 'boolean' },
      ]),
      `SELECT "uuid" AS "c0", CASE WHEN "say ""x""" THEN 'true'
        WHEN NOT "say ""x""" THEN 'false' END AS "c1" FROM "s"."t"`,
    ],
    [
      textsQuery(
        words,
        '"s"."t"',
        { model: 'persons', columns: persons.columns.tables.slice(0, 2), team_id: 7 },
        [],
      ),
      'SELECT CAST("team_id" AS varchar(65535)) AS "c0", CAST("distinct_id" AS varchar(65535)) ' +
        'AS "c1" FROM "s"."t" WHERE "team_id" = 7',
    ],
  ];
  for (const [given, expected] of cases) assertSameSql(given, expected);
});

test('persons are merged without keys of the table and without ON CONFLICT', () => {
  const columns = persons.columns.tables.filter(({ name }) =>
    ['team_id', 'distinct_id', 'person_version', 'person_distinct_id_version'].includes(name),
  );
  const list = '"team_id", "distinct_id", "person_distinct_id_version", "person_version"';
  const same =
    '"t"."team_id" = sluice_newest."team_id" AND "t"."distinct_id" = sluice_newest."distinct_id"';
  assertSameSql(showStatements(target, { model: 'persons', columns }, 'sluice_stage'), [
    `CREATE TEMPORARY TABLE sluice_newest AS SELECT ${list}
      FROM (SELECT ${list}, ROW_NUMBER() OVER (PARTITION BY "team_id", "distinct_id"
      ORDER BY CASE WHEN "person_version" IS NULL THEN 1 ELSE 0 END, "person_version" DESC,
      CASE WHEN "person_distinct_id_version" IS NULL THEN 1 ELSE 0 END,
      "person_distinct_id_version" DESC) AS sluice_rank FROM sluice_stage) AS ranked
      WHERE sluice_rank = 1`,
    `DELETE FROM "s"."t" USING sluice_newest WHERE ${same} AND
      (sluice_newest."person_version" > "t"."person_version" OR ("t"."person_version" IS NULL
      AND sluice_newest."person_version" IS NOT NULL)
      OR ((sluice_newest."person_version" = "t"."person_version" OR ("t"."person_version" IS NULL
      AND sluice_newest."person_version" IS NULL)) AND
      (sluice_newest."person_distinct_id_version" > "t"."person_distinct_id_version"
      OR ("t"."person_distinct_id_version" IS NULL
      AND sluice_newest."person_distinct_id_version" IS NOT NULL)
      OR ((sluice_newest."person_distinct_id_version" = "t"."person_distinct_id_version"
      OR ("t"."person_distinct_id_version" IS NULL
      AND sluice_newest."person_distinct_id_version" IS NULL)) AND (1 = 0)))))`,
    `INSERT INTO "s"."t" (${list}) SELECT ${list} FROM sluice_newest WHERE NOT EXISTS (SELECT 1
      FROM "s"."t" WHERE ${same})`,
    'DROP TABLE sluice_newest',
  ]);
  const calculated = columns.map((one) =>
    one.name === 'distinct_id' ? { ...one, is_calculated: true } : one,
  );
  assertSameSql(
    showStatements(target, { model: 'persons', columns: calculated }, 'sluice_stage').length,
    1,
  );
  const [, bare] = showStatements(
    target,
    { model: 'persons', columns: columns.slice(0, 2) },
    'sluice_stage',
  );
  assertSameSql(bare, `DELETE FROM "s"."t" USING sluice_newest WHERE ${same} AND (1 = 1)`);
});

test('COPY names the manifest, the way in, and how its objects are to be read', () => {
  const load = {
    target: 'sluice_stage',
    columns: two,
    manifest: 'a/manifest.json',
    null_marker: nullMarker('1'),
  };
  const statement = (authorization: string) =>
    `COPY sluice_stage ("uuid", "say ""x""") FROM 's3://loads/a/manifest.json' ${authorization}
      REGION 'eu-central-1' MANIFEST FORMAT AS CSV GZIP NULL AS 'sluice-null-1' TIMEFORMAT 'auto'
      COMPUPDATE OFF STATUPDATE OFF`;
  const keys = { aws_access_key_id: 'AKIA', aws_secret_access_key: 'a+b/c' };
  const cases: [Partial<RedshiftConfig>, string][] = [
    [keys, "ACCESS_KEY_ID 'AKIA' SECRET_ACCESS_KEY 'a+b/c'"],
    [{ ...keys, iam_role: '' }, "ACCESS_KEY_ID 'AKIA' SECRET_ACCESS_KEY 'a+b/c'"],
    [{ ...keys, iam_role: 'default' }, 'IAM_ROLE default'],
    [
      { ...keys, iam_role: 'arn:aws:iam::123456789012:role/x' },
      "IAM_ROLE 'arn:aws:iam::123456789012:role/x'",
    ],
  ];
  for (const [changes, authorization] of cases)
    assertSameSql(copyStatement({ ...config, ...changes }, load), statement(authorization));
  assertSameSql(
    manifestOf(config, ['a/1.csv.gz', 'a/2.csv.gz']),
    '{"entries":[{"url":"s3://loads/a/1.csv.gz","mandatory":true},{"url":"s3://loads/a/2.csv.gz","mandatory":true}]}',
  );
  assertSameSql(stagedFolder({ ...config, prefix: '/a/b/' }, 'id'), 'a/b/sluice_stage/id/');
  assertSameSql(stagedFolder(config, 'id'), 'sluice_stage/id/');
});

test('an INSERT has at most 32,767 parameters and about 4 MB, and at least one row', async () => {
  const rows = async function* (count: number, size_bytes: number): AsyncGenerator<Row> {
    for (let row = 0; row < count; row += 1) yield { values: [String(row), null], size_bytes };
  };
  const sizes = async (count: number, size_bytes: number) =>
    (
      await Array.fromAsync(
        insertsOf({ table: 't', columns: two, supers: none }, rows(count, size_bytes)),
      )
    ).map((one) => one.records);
  assertSameSql(await sizes(40_000, 10), [16_383, 16_383, 7_234]);
  assertSameSql(await sizes(3, 2_000_000), [2, 1]);
  assertSameSql(await sizes(2, 9_000_000), [1, 1]);
  assertSameSql(await sizes(0, 1), []);
  const write = { column: '"sluice_write"', number: 9 };
  const [insert] = await Array.fromAsync(
    insertsOf({ table: 't', columns: two, supers: new Set(['say "x"']), write }, rows(2, 1)),
  );
  assertSameSql(insert, {
    text:
      'INSERT INTO t ("sluice_write", "uuid", "say ""x""") VALUES (9, $1, JSON_PARSE($2)), (9, ' +
      '$3, JSON_PARSE($4))',
    values: ['0', null, '1', null],
    records: 2,
  });
});

test('values are read as they are, and what no column holds is refused, never cut', async () => {
  const columns = [
    column('t', 'text'),
    column('f', 'float'),
    column('at', 'timestamp'),
    column('j', 'json'),
  ];
  const read = async (text: string, supers: string[] = [], bytes = 100_000) =>
    (
      await Array.fromAsync(
        rowsOf(columns, new Set(supers), Readable.from([Buffer.from(text)]), {
          bytes,
          advice: 'Shorten it.',
        }),
      )
    ).map((row) => row.values);
  assertSameSql(
    await read(
      'a\\tb\\\\N\t-inf\t2015-09-12T01:02:03.000004Z\t{"a":"\\\\n"}\n\\N\tnan\t\\N\t\\N\n',
    ),
    [
      ['a\tb\\N', '-Infinity', '2015-09-12 01:02:03.000004+00', '{"a":"\\n"}'],
      [null, 'NaN', null, null],
    ],
  );
  const refused = (code: string) => (error: unknown) =>
    error instanceof NonRetryableError && error.code === code && error.message.endsWith('.');
  const fits = 'é'.repeat(32_767);
  assertSameSql((await read(`${fits}x\t1\t\\N\t1\n`)).length, 1);
  await assert.rejects(read(`${fits}é\t1\t\\N\t1\n`), refused('value_refused'));
  await assert.rejects(read(`a\t1\t\\N\t"${fits}é"\n`), refused('value_refused'));
  assertSameSql((await read(`a\t1\t\\N\t"${fits}é"\n`, ['j'])).length, 1);
  await assert.rejects(read(`a\t1\t\\N\t"${fits}é"\n`, ['j'], 65_000), refused('limit_exceeded'));
  assertSameSql(
    csvLine({ values: ['a,"b"\n', '', null, 'sluice-null-1'], size_bytes: 0 }, 'sluice-null-1'),
    '"a,""b""\n","",sluice-null-1,"sluice-null-1"\n',
  );
});

test('a long receipt is cut between characters', () => {
  for (const [text, bytes_max] of [
    ['', 4],
    ['abcd', 4],
    ['aé€😀'.repeat(50), 4],
    ['aé€😀'.repeat(50), 7],
  ] as const) {
    const parts = partsOf(text, bytes_max);
    assertSameSql(parts.join(''), text);
    assert.ok(
      parts.every(
        (part) => part !== '' && Buffer.byteLength(part) <= bytes_max && part.isWellFormed(),
      ),
    );
  }
});

test('the columns of a query that Redshift cannot have are named', () => {
  const names = (...given: string[]) =>
    redshiftColumnFaults(given.map((name) => column(name, 'text')));
  assertSameSql(names('a', 'select', 'A b'), []);
  for (const [given, pattern] of [
    [['a', 'A'], /ignores case/],
    [['x'.repeat(128)], /127 bytes/],
    [['CTID'], /reserves the name/],
    [Array.from({ length: 1_600 }, (_, index) => `c${index}`), /1599 columns/],
  ] as const)
    assert.match(names(...given).join(), pattern);
});
