import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueryError } from './query_error.ts';
import { parseQuery, resolveQuery } from './query.ts';

/**
 * A query, and what is said about it: line, column, the piece, words of the message, and what was
 * probably meant.
 */
type Case = [
  query: string,
  line: number,
  column: number,
  piece: string,
  words: RegExp,
  suggestion?: string,
];

const cases: Case[] = [
  ['SELECT distint_id FROM events', 1, 8, 'distint_id', /no column `distint_id`/, 'distinct_id'],
  [
    'SELECT\n  event,\n  propertis.$browser\nFROM events',
    3,
    3,
    'propertis',
    /no column/,
    'properties',
  ],
  ['SELECT "sign up" FROM events', 1, 8, '"sign up"', /Put text in single quotes/],
  ['SELECT evnt.x, lowr(event) FROM events', 1, 8, 'evnt', /no column/, 'event'],
  ['SELECT lowr(event) AS x FROM events', 1, 8, 'lowr', /no function/, 'lower'],
  ['SELECT COUNTT(*) AS n FROM events', 1, 8, 'COUNTT', /no function `COUNTT`/, 'count'],
  ['SELECT windowFunnel(60)(timestamp, true) AS n FROM events', 1, 8, 'windowFunnel', /minIf/],
  ['SELECT event FROM event', 1, 19, 'event', /no table `event`/, 'events'],
  ['SELECT e.evnt FROM events AS e', 1, 10, 'evnt', /no column/, 'event'],
  [
    'SELECT x::Strng AS s FROM (SELECT 1 AS x, event FROM events)',
    1,
    11,
    'Strng',
    /no type Strng/,
    'String',
  ],
  ['SELECT event FROM events WHERE', 1, 31, '', /ends too early/],
  ['SELECT event FROM events WHERE event = ', 1, 40, '', /ends too early/],
  ['SELECT event FROM events GROUP event', 1, 26, 'GROUP', /does not belong/],
  ['SELECT event,\nFROM events', 2, 1, 'FROM', /remove the comma/],
  ["SELECT 'ab FROM events", 1, 8, "'", /no end/],
  ["SELECT event, '😀' AS x, nothing FROM events", 1, 25, 'nothing', /no column/],
  [
    'SELECT event FROM events SETTINGS max_threads = 1',
    1,
    26,
    'SETTINGS',
    /the server sets the limits/,
  ],
  [
    'SELECT event, count() FROM events',
    1,
    8,
    'event',
    /neither a key of GROUP BY nor inside an aggregate/,
  ],
  ['SELECT event FROM events WHERE count() > 1', 1, 32, 'count()', /is not allowed in WHERE/],
  [
    'SELECT event FROM events WHERE event > 5',
    1,
    32,
    'event > 5',
    /types text and integer cannot be compared/,
  ],
  [
    "SELECT event FROM events WHERE timestamp > '2026-13-01'",
    1,
    44,
    "'2026-13-01'",
    /'2026-13-01' is no timestamp: write it as '2026-01-31 12:00:00' or/,
  ],
  ["SELECT event FROM events WHERE 'x' = uuid", 1, 32, "'x'", /'x' is no uuid/],
  [
    "SELECT event FROM events WHERE toDate(timestamp) BETWEEN '2026-02-01' AND '2026-02-30'",
    1,
    75,
    "'2026-02-30'",
    /is no date: write it as '2026-01-31'/,
  ],
  ['SELECT event + 1 AS x FROM events', 1, 8, 'event', /takes numbers, this is text/],
  [
    'SELECT lower(timestamp) AS x FROM events',
    1,
    14,
    'timestamp',
    /takes text here, this is timestamp/,
  ],
  [
    'SELECT substring(event) AS x FROM events',
    1,
    8,
    'substring(event)',
    /takes \(text, integer, integer\?\) -> text, not 1 arguments/,
  ],
  ['SELECT timestamp - inserted_at AS x FROM events', 1, 8, 'timestamp - inserted_at', /dateDiff/],
  [
    'SELECT if(true, 1, event) AS x FROM events',
    1,
    8,
    'if(true, 1, event)',
    /several types \(integer, text\)/,
  ],
  [
    'SELECT event, distinct_id AS event FROM events',
    1,
    15,
    'distinct_id',
    /Two columns are named `event`/,
  ],
  [
    'SELECT e.event FROM events e JOIN events f ON e.uuid = f.uuid WHERE uuid = f.uuid',
    1,
    69,
    'uuid',
    /Several tables have a column `uuid`/,
  ],
  [
    'SELECT event FROM events UNION ALL SELECT event, uuid FROM events',
    1,
    36,
    'SELECT event, uuid FROM events',
    /gives 2 columns/,
  ],
  [
    'SELECT uuid AS x FROM events UNION ALL SELECT event FROM events',
    1,
    1,
    'SELECT uuid AS x FROM events UNION ALL SELECT event FROM events',
    /is uuid and text in the arms/,
  ],
  ['SELECT event FROM events ORDER BY 2', 1, 35, '2', /the SELECT gives 1 column/],
  ['SELECT rand() AS x FROM events', 1, 8, 'rand', /differ at each attempt/],
  ['SELECT anyLast(event) AS x FROM events', 1, 8, 'anyLast', /may differ each time/],
  ['SELECT minOrNullIf(uuid, 1) AS x FROM events', 1, 8, 'minOrNullIf', /Write minIfOrNull/],
  ['SELECT SPLIT_PART(event, 1) AS x FROM events', 1, 8, 'SPLIT_PART', /Write splitByChar/],
  ['SELECT toDecimal64(event, 2) AS x FROM events', 1, 8, 'toDecimal64', /no decimals/],
  ['SELECT extract(YEAR FROM timestamp) AS x FROM events', 1, 16, 'YEAR', /write toYear/],
  ['SELECT timestamp::DateTime64(3) AS x FROM events', 1, 30, '3', /Write DateTime64 alone/],
  ['SELECT properties.a::Decimal(10, 2) AS x FROM events', 1, 22, 'Decimal', /no decimals/],
  [
    'SELECT lag(event) IGNORE NULLS OVER (ORDER BY timestamp) AS x FROM events',
    1,
    8,
    'lag(event) IGNORE NULLS OVER (ORDER BY timestamp)',
    /between first_value\(x\) or last_value\(x\) and OVER/,
  ],
  ['SELECT max(uuid) IGNORE NULLS AS x FROM events', 1, 8, 'max(uuid) IGNORE NULLS', /aggregates/],
  ['SELECT person.created_at FROM events', 1, 8, 'person', /`person.properties` and `person_id`/],
  ['SELECT properties.a ?? 1 = 2 AS x FROM events', 1, 24, '1 = 2', /write \(a \?\? b\) = c/],
  ['SELECT event IN (1) ?? 1 AS x FROM events', 1, 8, 'event IN (1)', /write \(a \?\? b\) = c/],
  ['SELECT event ? 1 : 2 AS x FROM events', 1, 14, '?', /write if\(condition, a, b\)/],
  ["SELECT uuid FROM events WHERE event =~ 'a'", 1, 38, '~', /match\(text, pattern\)/],
  ["SELECT properties->'a' AS x FROM events", 1, 8, "properties->'a'", /properties.name/],
  ["SELECT uuid, event AS 'name' FROM events", 1, 23, "'name'", /not in single quotes/],
  ['SELECT uuid FROM events WHERE {filters}', 1, 31, '{', /its own interval by itself/],
  ['SELECT * EXCEPT (evnt) FROM events', 1, 18, 'evnt', /could be left out/, 'event'],
  ['SELECT * REPLACE (1 AS event) FROM events', 1, 10, 'REPLACE', /write \* EXCEPT/],
  ['SELECT * EXCEPT SELECT * FROM events', 1, 10, 'EXCEPT', /x NOT IN \(SELECT/],
  ["SELECT COLUMNS('a') FROM events", 1, 8, 'COLUMNS', /\* EXCEPT \(a, b\)/],
  ['SELECT uuid FROM events UNION SELECT uuid FROM events', 1, 31, 'SELECT', /UNION DISTINCT/],
  [
    'SELECT uuid FROM events WHERE person_id IN COHORT 5',
    1,
    44,
    'COHORT',
    /language has no cohorts/,
  ],
  ["SELECT uuid FROM events WHERE in(event, ['a'])", 1, 31, 'in', /write x IN \(a, b\)/],
  ["SELECT trim(BOTH '\"' FROM event) AS x FROM events", 1, 13, 'BOTH', /JSONExtractString/],
  ['SELECT properties.a::numeric AS x FROM events', 1, 22, 'numeric', /no decimals/],
  ['SELECT $session_id FROM events', 1, 8, '$session_id', /write properties.\$session_id/],
  ['SELECT session.id FROM events', 1, 8, 'session', /properties.\$session_id/],
  ['SELECT p.id FROM persons p', 1, 10, 'id', /`person_id`/],
  [
    'SELECT sum(1) OVER (ORDER BY timestamp RANGE INTERVAL 1 DAY PRECEDING) AS x FROM events',
    1,
    46,
    'INTERVAL',
    /toUnixTimestamp/,
  ],
  ["SELECT toInt64('1', 'UTC') AS x FROM events", 1, 8, "toInt64('1', 'UTC')", /not 2 arguments/],
  [
    "SELECT toDateTime(1, 'UTC') AS x FROM events",
    1,
    8,
    "toDateTime(1, 'UTC')",
    /convert it first/,
  ],
  [
    'SELECT arrayMap(x -> x, properties.a) AS x FROM events',
    1,
    25,
    'properties.a',
    /JSONExtractArrayRaw/,
  ],
  ["SELECT toHour(timestamp, 'Berlin') AS h FROM events", 1, 26, "'Berlin'", /a time zone such as/],
];

test('a fault is named with its line, its column, the piece and what was probably meant', () => {
  for (const [query, line, column, piece, words, suggestion] of cases) {
    assert.throws(
      () => resolveQuery(query, { model: 'events' }),
      (error: unknown) => {
        assert.ok(error instanceof QueryError, query);
        const [fault] = error.faults;
        assert.deepEqual(
          [fault.line, fault.column, fault.piece, fault.suggestion],
          [line, column, piece, suggestion],
          query,
        );
        assert.match(fault.message, words, query);
        assert.equal(fault.length, [...piece].length, query);
        assert.ok(error.message.startsWith(`Line ${line}, column ${column}: `), query);
        return true;
      },
    );
  }
});

test('the faults of several clauses are named in one answer, in the order of the text', () => {
  assert.throws(
    () =>
      resolveQuery(
        'SELECT evnt, lowr(uuid) AS l\nFROM events\nWHERE tmestamp > now()\nORDER BY nothing',
        { model: 'events' },
      ),
    (error: unknown) => {
      assert.ok(error instanceof QueryError);
      assert.deepEqual(
        error.faults.map(({ line, column, piece }) => [line, column, piece]),
        [
          [1, 8, 'evnt'],
          [1, 14, 'lowr'],
          [3, 7, 'tmestamp'],
          [4, 10, 'nothing'],
        ],
      );
      return true;
    },
  );
});

test('a consequence of a fault is not a second fault', () => {
  assert.throws(
    () =>
      resolveQuery('SELECT k FROM (SELECT nothing AS k FROM events) GROUP BY k', {
        model: 'events',
      }),
    (error: unknown) => {
      assert.ok(error instanceof QueryError);
      assert.deepEqual(
        error.faults.map(({ piece }) => piece),
        ['nothing'],
      );
      return true;
    },
  );
});

test('a text that is not of the language is refused when it is only read, too', () => {
  assert.throws(() => parseQuery('SELECT'), QueryError);
  assert.equal(parseQuery('SELECT nothing FROM nowhere').kind, 'core');
});
