import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printQuery, readSql, settings } from '../../../test/query_cases/run_query.ts';
import { january } from '../../../test/query_cases/two_projects.ts';
import { checkByEngine, gateRelation } from './gate/check_by_engine.ts';
import { findForeignNode } from './gate/gate.ts';
import { QueryError } from './query_error.ts';
import { resolveQuery } from './query.ts';
import { querySettings } from './settings.ts';
import { openAroundTests, projects } from '../../../test/factories/batch_exports/query_projects.ts';

openAroundTests();

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
    'SELECT * FROM events AS e ARRAY JOIN event AS x',
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

test('a fault that only ClickHouse finds is an error of the query, at its piece', async () => {
  const cases: [string, RegExp, string][] = [
    ["SELECT match(event, '(') AS x FROM events", /not valid in RE2/, "'('"],
    [
      "SELECT extract(event, 'a') AS x, match(event, '[z-a]') AS y FROM events",
      /not valid in RE2/,
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

test("the operator's limits end a query, and its settings let nothing be written", async () => {
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
    // Half a second for a block. One that counts would hold all cores until its time is over.
    ask('SELECT sum(sleepEachRow(0.0005)) FROM numbers(20000)', {
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
