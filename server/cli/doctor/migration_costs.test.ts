import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  aboutText,
  analyticsTablesRead,
  bytesText,
  costsOf,
  secondsOf,
} from './migration_costs.ts';

test('the cost of a PostgreSQL statement is known by its words', () => {
  const cases: [string, string][] = [
    ['CREATE TABLE a (b text CHECK (b > 0));', ''],
    ['ALTER TABLE a ADD COLUMN b text, ADD COLUMN c integer NOT NULL DEFAULT 0;', ''],
    ['ALTER TABLE a ADD COLUMN b uuid DEFAULT gen_random_uuid();', 'rewrite a'],
    ['ALTER TABLE a ALTER COLUMN b TYPE bigint;', 'rewrite a'],
    ['ALTER TABLE A ADD CONSTRAINT c CHECK (b > 0);', 'scan a'],
    ['CREATE INDEX c ON a (b);\n-- CREATE INDEX d ON a (b);', 'index a'],
    ["UPDATE a SET b = 1;\nDELETE FROM c WHERE d = 'x';", 'update a, update c'],
    ['WITH d AS (SELECT 1) UPDATE a SET b = 1;', 'update a'],
    ['CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN UPDATE a SET b = 1; END $$;', ''],
  ];
  for (const [text, costs] of cases)
    assert.equal(
      costsOf(text)
        .map(({ work, table }) => `${work} ${table}`)
        .join(', '),
      costs,
      text,
    );
  const bytes = new Map([['a', 100_000_000]]);
  assert.equal(secondsOf(costsOf('CREATE INDEX c ON a (b); CREATE INDEX d ON e (f);'), bytes), 2);
});

test('a migration of ClickHouse names the tables that it reads whole', () => {
  const cases: [string, string[]][] = [
    ['ALTER TABLE events ADD COLUMN a String;\nCREATE TABLE b (c String);', []],
    ['ALTER TABLE events MATERIALIZE COLUMN a;', ['events']],
    ["ALTER TABLE persons UPDATE a = 'b' WHERE 1;", ['persons']],
    ['INSERT INTO a SELECT b FROM events;', ['events']],
  ];
  for (const [text, tables] of cases) assert.deepEqual(analyticsTablesRead(text), tables, text);
});

test('times and bytes are as exact as they are known', () => {
  assert.deepEqual([0, 39.2, 600, 9_000].map(aboutText), [
    'less than a second',
    'about 40 s',
    'about 10 min',
    'about 2.5 h',
  ]);
  assert.deepEqual([0, 1_200, 5.5e9].map(bytesText), ['0 bytes', '1.2 kB', '5.5 GB']);
});
