import { columns, entries, list } from './query_lists.ts';

/**
 * Valid or almost valid texts that try to see another project's rows. They may be refused; if they
 * run, they return the project's own rows.
 */
export const hostile_meanings: string[] = [
  // The project's number under other meanings.
  'SELECT team_id, event FROM events WHERE team_id = 22',
  'SELECT team_id, event FROM events WHERE team_id != 11 OR true',
  'SELECT 22 AS team_id, event FROM events WHERE team_id = 22',
  'SELECT 22 AS team_id, event FROM events HAVING team_id = 22',
  "SELECT event AS team_id, team_id AS event FROM events WHERE team_id = '22'",
  'WITH 22 AS team_id SELECT event FROM events WHERE team_id = 22',
  'WITH 22 AS team_id SELECT team_id, count() AS n FROM events GROUP BY team_id',
  'WITH true AS events SELECT event FROM events',
  'SELECT `team_id` FROM (SELECT 22 AS `team_id`, event FROM events)',
  'SELECT event FROM (SELECT 22 AS team_id, event FROM events) AS events WHERE events.team_id = 22',
  'WITH events AS (SELECT event, 22 AS team_id FROM events) SELECT event FROM events WHERE ' +
    'team_id = 22',
  'WITH persons AS (SELECT event AS distinct_id FROM events) SELECT distinct_id FROM persons',
  'SELECT events.event FROM persons AS events RIGHT JOIN events AS persons ON 1 = 1',
  'SELECT persons.event FROM events AS persons',
  'SELECT a.team_id, b.team_id AS other FROM events a FULL JOIN events b ON a.team_id != b.team_id',
  'SELECT a.event FROM events a LEFT JOIN events b ON b.team_id = 22',
  'SELECT a.event, b.event AS other FROM events a RIGHT JOIN events b ON a.uuid != b.uuid OR true',
  'SELECT a.event, b.distinct_id FROM events a FULL JOIN persons b ON a.distinct_id = ' +
    'b.distinct_id OR true',
  'SELECT event FROM events WHERE true OR team_id = 22 OR 1 = 1',
  "SELECT event FROM events WHERE event = '' OR ''=''",
  'SELECT event FROM events WHERE NOT (team_id = 11)',
  'SELECT event FROM events WHERE team_id IN (22, 11)',
  'SELECT event FROM events WHERE team_id NOT IN (11)',
  'SELECT event FROM events WHERE (team_id, event) IN (SELECT team_id, event FROM events)',
  'SELECT event FROM events WHERE event IN (SELECT event FROM events WHERE team_id = 22)',
  'SELECT (SELECT max(event) FROM events WHERE team_id = 22) AS x FROM events',
  'SELECT (SELECT groupArray(event) FROM events) AS x FROM events',
  'SELECT (SELECT groupArray(distinct_id) FROM persons) AS x, count() AS n FROM events',
  'SELECT (SELECT min(team_id) FROM persons) AS low, (SELECT max(team_id) FROM persons) AS ' +
    'high, uuid FROM events',
  'SELECT max(team_id) AS a, min(team_id) AS b, uniqExact(team_id) AS c, count() AS d FROM events',
  'SELECT team_id, count() AS n FROM events GROUP BY team_id',
  'SELECT count() AS n FROM events, events AS b, persons',
  'SELECT distinct_id FROM persons UNION ALL SELECT event FROM events',
  'SELECT event FROM events UNION DISTINCT SELECT distinct_id FROM persons UNION DISTINCT ' +
    'SELECT properties.plan FROM persons',
  'SELECT x FROM (SELECT event AS x FROM events UNION ALL SELECT toString(team_id) FROM persons)',
  'SELECT properties FROM persons',
  'SELECT p.properties, e.uuid FROM events e RIGHT JOIN persons p ON e.uuid = p.person_id',
  'SELECT event, row_number() OVER (ORDER BY team_id) AS n, count() OVER () AS all FROM events',
  'SELECT lag(event) OVER (ORDER BY timestamp) AS a, lead(event) OVER (ORDER BY timestamp) AS ' +
    'b, uuid FROM events',
  'SELECT first_value(event) OVER (ORDER BY team_id) AS a, max(event) OVER () AS b, uuid FROM ' +
    'events',
  'SELECT event FROM events ORDER BY team_id DESC LIMIT 1 BY team_id',
  'SELECT event FROM events ORDER BY event DESC LIMIT 100 OFFSET 0',
  "SELECT event FROM events WHERE timestamp > '2030-01-01'",
  'SELECT max(timestamp) AS t, max(inserted_at) AS i FROM events',
  'SELECT uniq(distinct_id) AS a, uniqExact(person_id) AS b, sum(cityHash64(uuid) > 0) AS c ' +
    'FROM events',
  'SELECT groupBitXor(toInt64(cityHash64(uuid))) AS x FROM events',
  // Names that look like the printer's own or the store's.
  'SELECT event AS t0, uuid AS t0_event, distinct_id AS c1 FROM events AS t1',
  'SELECT c0, t0, order_1 FROM (SELECT event AS c0, uuid AS t0, distinct_id AS order_1 FROM ' +
    'events AS t0) AS c0 ORDER BY length(c0)',
  'SELECT column_1, inserted_at FROM (SELECT event AS column_1, 5 AS inserted_at FROM events)',
  'SELECT event AS inserted_at, distinct_id AS uuid FROM events',
  "SELECT event AS p0, '{p0:String}' AS p1 FROM events",
  "SELECT '{team_id:Int64}' AS a, '{data_interval_end:DateTime64}' AS b FROM events",
  'SELECT event AS `x` , uuid AS "x`" FROM events',
  'SELECT event AS `a` , uuid AS `a\\` FROM events --` FROM events',
  "SELECT event AS `') FROM system.one --`, uuid FROM events",
  'SELECT event AS `; DROP TABLE events`, uuid FROM events',
  'SELECT event AS `\\n`, uuid AS `\\t` FROM events',
  'SELECT event AS `{"a":1}`, uuid AS `%s` FROM events',
  'SELECT event AS `SELECT`, uuid AS `FROM` FROM events',
  'SELECT event AS 别名 FROM events',
  'SELECT event AS `别名`, uuid AS `\u202e\u202d` FROM events',
  "SELECT '\u202e ; TNERES' AS x FROM events",
  "SELECT 'ＵＮＩＣＯＤＥ＇ quote ＇' AS x FROM events",
  "SELECT event FROM events WHERE event = '\\\\' OR event = ' OR 1=1 --'",
  "SELECT event FROM events WHERE event = '\\'' OR event = '\\\\\\''",
  "SELECT event FROM events WHERE event IN ('\\'', '\\\\', '],[', ')', '\\n\\t', '\\N', 'NULL')",
  "SELECT properties.`'] OR 1=1 --` AS x FROM events",
  "SELECT properties['\\'), team_id, (\\''] AS x FROM events",
  'SELECT properties.`$.*` AS x, properties.`..` AS y, properties[999999999] AS z, ' +
    'properties[-1] AS w FROM events',
  "SELECT JSONExtractRaw(properties, '$..*') AS x, JSONExtractString(properties, 'a', -1) AS " +
    'y FROM events',
  'SELECT properties.a.b.c.d.e.f.g.h.i.j.k AS x FROM events',
  'SELECT JSONExtractKeysAndValuesRaw(properties) AS kv FROM events',
  "SELECT isValidJSON(concat(properties, '[[[[')) AS x FROM events",
  "SELECT format('{}{}{}', event, event, event) AS x, uuid FROM events",
  "SELECT format('{0}{5}', event) AS x FROM events",
  "SELECT format('{', event) AS x FROM events",
  "SELECT formatDateTime(timestamp, '%Q%s%n%') AS x FROM events",
  "SELECT formatDateTime(timestamp, '%') AS x FROM events",
  "SELECT replaceRegexpOne(event, '(.*)', '\\\\9') AS x FROM events",
  "SELECT extractGroups(event, 'nogroups') AS x FROM events",
  "SELECT splitByChar('ab', event) AS x FROM events",
  "SELECT splitByRegexp('', event) AS x FROM events",
  "SELECT base64Decode('!!!') AS x FROM events",
  "SELECT decodeURLComponent('%zz%') AS x, extractURLParameter('?a=%', 'a') AS y FROM events",
];

/** Returns this many letters a and b in an order without a short rule. */
function lettersWithoutOrder(count: number): string {
  let state = 7;
  const letters = Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >> 16) % 2 === 0 ? 'a' : 'b';
  });
  return letters.join('');
}

/**
 * Texts that try to cause endless work, use unlimited memory, or stop the store. They may be
 * refused or ended by a limit.
 */
export const hostile_loads: string[] = [
  "SELECT replaceRegexpAll(properties, 'a*b|a', 'x') AS x FROM events",
  `SELECT match(properties, '${'(a*)*'.repeat(60)}b') AS x FROM events`,
  `SELECT match(event, '${'(?:a|b|c|d){1,100}'.repeat(8)}') AS x FROM events`,
  "SELECT match(event, '(((((a{1,30}){1,30}){1,30}){1,30}){1,30})') AS x FROM events",
  `SELECT concat(${Array.from({ length: 200 }, () => 'properties').join(', ')}) AS x FROM events`,
  'SELECT count() AS n FROM events a, events b, events c, events d, events e, events f, ' +
    'events g, events h, events i, events j, events k, events l',
  Array.from({ length: 14 }).reduce<string>(
    (inner) => `SELECT concat(max(event), (${inner})) AS m FROM events GROUP BY team_id`,
    'SELECT max(event) AS m FROM events GROUP BY team_id',
  ),
  `SELECT ${Array.from({ length: 4_900 }, () => 'true').join(' AND ')} FROM events`,
  'SELECT count() AS n FROM events a JOIN events b ON a.team_id = b.team_id JOIN events c ON ' +
    'a.team_id = c.team_id JOIN events d ON a.team_id = d.team_id',
  'SELECT arrayJoin(groupArray(event)) AS x, count() AS n FROM events GROUP BY event',
  `SELECT
    ${list(12, (index) => `arrayJoin([0, 1, 2, 3, 4, 5, 6, 7, 8]) AS x${index}`)}
    FROM events`,
  `SELECT arrayCount(x -> has(splitByChar(',', '${'a,'.repeat(20_000)}'), x), splitByChar(',',
    '${'b,'.repeat(10_000)}')) AS x FROM events`,
  'SELECT arrayCount(x -> has((SELECT groupArray(event) FROM events), x), [event]) AS x ' +
    'FROM events',
  'SELECT pow(pow(pow(10, 308), 308), 308) AS x, exp(1000000) AS y, ' +
    'intDivOrZero(-9223372036854775808, -1) AS z FROM events',
  'SELECT intDiv(1, 0) AS x FROM events',
  'SELECT intDiv(length(event), 0) AS x FROM events',
  'SELECT intDiv(-9223372036854775808, -1) AS x FROM events',
  'SELECT modulo(-9223372036854775808, -1) AS x FROM events',
  'SELECT modulo(length(event), 0) AS x FROM events',
  'SELECT 1 / 0 AS a, 0 / 0 AS b, -1 / 0 AS c, toInt64(1 / 0) AS d, toInt64(0 / 0) AS e ' +
    'FROM events',
  'SELECT 9223372036854775807 + 1 AS x, 9223372036854775807 * 9223372036854775807 AS y FROM events',
  'SELECT toDateTime(9223372036854775807) AS x, toDateTime(-9223372036854775808) AS y FROM events',
  'SELECT fromUnixTimestamp64Milli(9223372036854775807) AS x FROM events',
  'SELECT addYears(timestamp, 9223372036854775807) AS x, addMonths(timestamp, ' +
    '-9223372036854775808) AS y FROM events',
  'SELECT timestamp + INTERVAL 9223372036854775807 YEAR AS x FROM events',
  'SELECT timestamp - INTERVAL 9223372036854775807 SECOND AS x FROM events',
  'SELECT toStartOfInterval(timestamp, INTERVAL 999999 YEAR) AS x FROM events',
  "SELECT toDate('9999-99-99') AS x FROM events",
  "SELECT toDateTime('not a time') AS x FROM events",
  "SELECT toUUID('x') AS x FROM events",
  "SELECT toInt64('') AS x FROM events",
  'SELECT substring(event, -9223372036854775808, 9223372036854775807) AS x FROM events',
  'SELECT substringUTF8(event, 0) AS x, left(event, -1) AS y, right(event, ' +
    '9223372036854775807) AS z FROM events',
  'SELECT arraySlice([1, 2], -9223372036854775808, 9223372036854775807) AS x, ' +
    '[1][9223372036854775807] AS y, [1][-9223372036854775808] AS z, [1][0] AS w FROM events',
  'SELECT arrayElement(emptyish, 1) AS x FROM (SELECT [] AS emptyish, event FROM events)',
  'SELECT arrayMin([]) AS x, arraySum([]) AS y, arrayJoin([]) AS z FROM events',
  'SELECT arrayReverse([]) AS a, arrayConcat([], [1]) AS b, arrayFlatten([[]]) AS c, ' +
    'arrayDistinct([NULL, 1]) AS d FROM events',
  'SELECT map(NULL, 1) AS x FROM events',
  'SELECT (NULL, NULL) AS x, [NULL] AS y, coalesce(NULL, NULL) AS z, if(true, NULL, NULL) AS ' +
    'w FROM events',
  'SELECT NULL IN (1) AS x, NULL = NULL AS y, NOT NULL AS z FROM events',
  'SELECT sum(NULL) AS x, count(NULL) AS y, max(NULL) AS z FROM events',
  'SELECT event FROM events WHERE NULL',
  'SELECT event FROM events ORDER BY NULL',
  'SELECT quantile(0)(length(event)) AS a, quantile(1)(properties.n) AS b, quantiles(0.1, ' +
    '0.2, 0.3)(1) AS c FROM events',
  'SELECT sum(length(event)) OVER (ORDER BY timestamp ROWS BETWEEN 1000000000 PRECEDING AND ' +
    '1000000000 FOLLOWING) AS x FROM events',
  'SELECT sum(length(event)) OVER (ORDER BY timestamp ROWS BETWEEN 1 FOLLOWING AND 1 ' +
    'PRECEDING) AS x FROM events',
  'SELECT sum(length(event)) OVER (ORDER BY event RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) ' +
    'AS x FROM events',
  'SELECT ntile(1) OVER (ORDER BY uuid) AS x, nth_value(event, 1000) OVER (ORDER BY uuid) AS ' +
    'y FROM events',
  'SELECT lag(event, 1000) OVER (ORDER BY uuid) AS x FROM events',
  'SELECT count() AS n FROM events GROUP BY event, [event], (event, uuid), map(event, 1)',
  'SELECT DISTINCT properties, map(event, 1) AS m FROM events LIMIT 2',
  'SELECT event FROM events LIMIT 0',
  'SELECT event FROM events LIMIT 9007199254740991 OFFSET 9007199254740991',
  'SELECT event FROM events LIMIT 0 BY event',
  `SELECT ${'('.repeat(90)}event${')'.repeat(90)} AS x FROM events`,
  `SELECT ${'lower('.repeat(45)}event${')'.repeat(45)} AS x FROM events`,
  `${'SELECT * FROM ('.repeat(15)}SELECT event FROM events${')'.repeat(15)}`,
  `SELECT event FROM events WHERE event IN
    (${Array.from({ length: 4_000 }, (_unused, index) => `'${index}'`).join(',')})`,
  `SELECT ${Array.from({ length: 90 }, () => 'length(event)').join(' + ')} AS x FROM events`,
];

/**
 * The same, in the size that the test wants: `inDepth` returns the usual number, or one that takes
 * the store seconds.
 */
export function largeLoads(inDepth: (usual: number, deep: number) => number): string[] {
  // A text without order, over which an expression has the most states.
  const orderless = lettersWithoutOrder(inDepth(1_500, 20_000));
  // Numbers of an array that is iterated inside its own iteration.
  const numbers = list(inDepth(50, 300), String);
  const comparisons = Array(inDepth(100, 300)).keys();
  // The number of entries that each double the previous one, or read it twice.
  const doublings = inDepth(6, 9);
  const unions = inDepth(4, 6);
  return [
    `SELECT extractAll(concat('${orderless}', event),
    '[ab]*a[ab]{30}[x-z]|[ab]') AS x FROM events`,
    `SELECT arrayMap(x -> match(concat(x, '${orderless}'), '[ab]*a[ab]{40}[x-z]'),
    splitByChar(' ', event)) AS x FROM events`,
    `SELECT match(concat(event, '${orderless}'), '[ab]*a[ab]{900}[x-z]') AS x
    FROM events`,
    `SELECT length(arrayMap(a -> arrayMap(b -> arrayMap(c -> a + b + c,
    [${numbers}]),
    [${numbers}]),
    [${numbers}])) AS x FROM events`,
    `SELECT event FROM events WHERE
    ${Array.from(comparisons, (number) => `event = '${number}'`).join(' OR ')}`,
    `SELECT ${list(inDepth(150, 500), (index) => `event AS x${index}`)} FROM events`,
    `SELECT
    ${list(inDepth(8, 20), (index) => `properties.p${index} AS p${index}`)}
    FROM events`,
    Array.from({ length: inDepth(15, 40) }, () => 'SELECT event FROM events').join(' UNION ALL '),
    `WITH
    ${columns(doublings + 1, (before) => `${before} + ${before}`)}
    SELECT x${doublings} FROM events`,
    `WITH
    ${entries(unions + 1, (it) => `SELECT event FROM ${it} UNION ALL SELECT event FROM ${it}`)}
    SELECT count() AS n FROM x${unions}`,
  ];
}
