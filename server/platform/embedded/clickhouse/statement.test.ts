import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countProcessorTime } from '../../../../test/processor_time.ts';
import { readStatement } from './statement.ts';

const reads: [text: string, before: string, format: string | undefined, after: string][] = [
  ['select 1', 'select 1', undefined, ''],
  ['SELECT 1 FORMAT JSON', 'SELECT 1 ', 'JSON', ''],
  ['SELECT 1 FORMAT TSV SETTINGS a = 1;', 'SELECT 1 ', 'TSV', ' SETTINGS a = 1'],
  ['SELECT format, 1 AS b FROM t', 'SELECT format, 1 AS b FROM t', undefined, ''],
  [
    'SELECT a FROM (SELECT 1 AS a FORMAT x) y',
    'SELECT a FROM (SELECT 1 AS a FORMAT x) y',
    undefined,
    '',
  ],
  ["SELECT 'a;b\\';c' ;  -- the end", "SELECT 'a;b\\';c' ", undefined, ''],
  [
    '/* ; */ WITH x AS (SELECT 1) SELECT * FROM x',
    '/* ; */ WITH x AS (SELECT 1) SELECT * FROM x',
    undefined,
    '',
  ],
  ['SELECT $a$;$a$', 'SELECT $a$;$a$', undefined, ''],
  ['(SELECT 1) UNION ALL (SELECT 2)', '(SELECT 1) UNION ALL (SELECT 2)', undefined, ''],
];

test('a SELECT is split where its format stands', () => {
  for (const [text, before, format, after] of reads)
    assert.deepEqual(readStatement(text), { kind: 'read', before, format, after }, text);
});

const inserts: [text: string, before: string, after: string, format: string, data: string][] = [
  ['INSERT INTO t FORMAT JSONEachRow', 'INSERT INTO t ', '', 'JSONEachRow', ''],
  [
    'INSERT INTO t (a, b) SETTINGS x = 1 FORMAT CSV\n1;2\n',
    'INSERT INTO t (a, b) ',
    'SETTINGS x = 1 ',
    'CSV',
    '1;2\n',
  ],
  [
    'INSERT INTO d.`t` (`a`) VALUES (1); (2)',
    'INSERT INTO d.`t` (`a`) ',
    '',
    'Values',
    ' (1); (2)',
  ],
  ['INSERT INTO {t:Identifier} FORMAT TSV\n\n', 'INSERT INTO {t:Identifier} ', '', 'TSV', '\n'],
  [
    "INSERT INTO FUNCTION null('a Int8') VALUES (1)",
    "INSERT INTO FUNCTION null('a Int8') ",
    '',
    'Values',
    ' (1)',
  ],
  ['INSERT INTO format FORMAT TSV 1', 'INSERT INTO format ', '', 'TSV', '1'],
  ['INSERT INTO d.values VALUES (1)', 'INSERT INTO d.values ', '', 'Values', ' (1)'],
];

test('the data of an INSERT are never read as SQL', () => {
  for (const [text, before, after, format, data] of inserts) {
    const statement = readStatement(text);
    assert.equal(statement.kind, 'insert', text);
    if (statement.kind === 'insert')
      assert.deepEqual(
        [statement.before, statement.after, statement.format, text.slice(statement.data_from)],
        [before, after, format, data],
        text,
      );
  }
});

test('a statement with little or no answer is a command', () => {
  for (const text of [
    'CREATE TABLE t (a Int8) ENGINE = Memory',
    'INSERT INTO t SELECT 1',
    'INSERT INTO t (a) WITH 1 AS x SELECT x',
    'INSERT INTO t (SELECT 1)',
    'EXPLAIN AST SELECT 1',
    'SHOW TABLES',
    'KILL QUERY WHERE 0',
  ]) {
    assert.deepEqual(readStatement(text), { kind: 'command', text, format: undefined }, text);
  }
  assert.deepEqual(readStatement('EXPLAIN AST SELECT 1 FORMAT JSON'), {
    kind: 'command',
    text: 'EXPLAIN AST SELECT 1 ',
    format: 'JSON',
  });
});

test('more than one statement is refused, also where quoting hides it', () => {
  for (const text of [
    'SELECT 1; SELECT 2',
    'EXPLAIN AST SELECT 1; DROP TABLE t',
    "SELECT x'\\'; DROP TABLE t; --'",
    "SELECT 'a\\\\'; DROP TABLE t --'",
    'SELECT a$b$ ; DROP TABLE t -- $b$',
    'SELECT `a``b`; DROP TABLE t',
    'INSERT INTO t SELECT 1; DROP TABLE t',
    'SELECT 1;;',
  ]) {
    assert.deepEqual(
      readStatement(text),
      { kind: 'refused', reason: 'Only one statement is allowed in a request.' },
      text,
    );
  }
});

test('a statement that is unreadable, or reaches for files, is refused with a sentence', () => {
  for (const text of [
    '',
    '-- nothing',
    'nonsense',
    'SELECT ‘a’',
    "SELECT 'open",
    'SELECT $a$ open',
    "SELECT 1 INTO OUTFILE '/tmp/x'",
    "INSERT INTO t FROM INFILE '/etc/passwd' FORMAT TSV",
    'SYSTEM SHUTDOWN',
    'system kill',
    'VALUES (1)',
  ]) {
    const statement = readStatement(text);
    assert.equal(statement.kind, 'refused', text);
    if (statement.kind === 'refused') assert.match(statement.reason, /^[A-Z].+/);
  }
});

test('reading a megabyte of text takes no more than a moment', () => {
  const worked_ms = countProcessorTime();
  assert.equal(readStatement(`SELECT '${"a''b".repeat(250_000)}'`).kind, 'read');
  assert.equal(readStatement(`SELECT '${'a'.repeat(1_000_000)}`).kind, 'refused');
  assert.ok(worked_ms() < 1_000);
});
