import type { WorkingQuery } from './works_values.ts';

// One day in the formats of programs.
const dated = [
  '2024-01-31',
  '2024-01-31T00:00:00Z',
  '2024-1-31 00:00:00',
  '2024/01/31',
  '2024.01.31',
  '20240131',
  '20240131000000',
  '1706659200',
  '1706659200000',
  '31/01/2024',
  '31-01-2024',
  '31/01/24',
  'Wed, 31 Jan 2024 00:00:00 GMT',
  'Wed Jan 31 2024 01:00:00 GMT+0100',
  '31-Jan-2024',
  'January 31, 2024',
];

/** Functions of time, text, JSON, arrays and addresses, beyond their own examples. */
export const working_functions: WorkingQuery[] = [
  [
    'SELECT uuid, toStartOfDay(timestamp) AS d, toStartOfHour(timestamp) AS h FROM events',
    "SELECT uuid, toStartOfDay(timestamp), toStartOfHour(timestamp)::DateTime64(6, 'UTC') " +
      'FROM mine',
  ],
  [
    "SELECT uuid, toStartOfDay(timestamp, 'Europe/Berlin') AS d FROM events",
    "SELECT uuid, toTimeZone(toStartOfDay(timestamp, 'Europe/Berlin'), 'UTC')::DateTime64(6, " +
      "'UTC') FROM mine",
  ],
  [
    "SELECT uuid, dateTrunc('month', timestamp, 'Europe/Berlin') AS m FROM events WHERE event " +
      "= 'page view' AND distinct_id = 'd3'",
    "SELECT uuid, toDateTime64('2024-01-31 23:00:00', 6, 'UTC') FROM mine WHERE event = 'page " +
      "view' AND distinct_id = 'd3'",
  ],
  [
    "SELECT uuid, date_trunc('week', timestamp) AS w, dateTrunc('day', timestamp) AS d FROM events",
    "SELECT uuid, toMonday(timestamp)::DateTime64(6, 'UTC'), " +
      "toStartOfDay(timestamp)::DateTime64(6, 'UTC') FROM mine",
  ],
  [
    'SELECT uuid, toStartOfMonth(timestamp) AS m, toMonday(timestamp) AS w FROM events',
    'SELECT uuid, toString(toStartOfMonth(timestamp)), toString(toMonday(timestamp)) FROM mine',
  ],
  [
    'SELECT uuid, toStartOfInterval(timestamp, INTERVAL 15 MINUTE) AS q FROM events',
    "SELECT uuid, toStartOfInterval(timestamp, INTERVAL 15 MINUTE)::DateTime64(6, 'UTC') FROM mine",
  ],
  [
    'SELECT uuid, toYear(timestamp) AS y, toMonth(timestamp) AS m, toDayOfWeek(timestamp) AS ' +
      'd, toHour(timestamp) AS h FROM events',
    'SELECT uuid, toYear(timestamp), toMonth(timestamp), toDayOfWeek(timestamp), ' +
      'toHour(timestamp) FROM mine',
  ],
  [
    "SELECT uuid, toHour(timestamp, 'America/New_York') AS h FROM events",
    "SELECT uuid, toHour(timestamp, 'America/New_York') FROM mine",
  ],
  [
    "SELECT uuid, formatDateTime(timestamp, '%Y-%m-%d') AS d FROM events",
    "SELECT uuid, formatDateTime(timestamp, '%Y-%m-%d') FROM mine",
  ],
  [
    "SELECT uuid, dateDiff('day', timestamp, inserted_at) AS d, dateDiff('second', timestamp, " +
      'inserted_at) AS s FROM events',
    "SELECT uuid, dateDiff('day', timestamp, inserted_at), dateDiff('second', timestamp, " +
      'inserted_at) FROM mine',
  ],
  [
    "SELECT uuid, dateDiff('day', toDate('2024-01-01'), timestamp) AS d FROM events",
    "SELECT uuid, dateDiff('day', toDate('2024-01-01'), timestamp) FROM mine",
  ],
  [
    "SELECT uuid, dateAdd('month', 1, timestamp) AS a, addDays(timestamp, -1) AS b FROM events",
    'SELECT uuid, addMonths(timestamp, 1), subtractDays(timestamp, 1) FROM mine',
  ],
  [
    'SELECT uuid, toUnixTimestamp(timestamp) AS s, toUnixTimestamp64Milli(timestamp) AS m ' +
      'FROM events',
    'SELECT uuid, intDiv(toUnixTimestamp64Micro(timestamp), 1000000), ' +
      'toUnixTimestamp64Milli(timestamp) FROM mine',
  ],
  [
    "SELECT uuid, toDateTime('2024-05-01T10:00:00+02:00') AS a, parseDateTimeBestEffort('1 " +
      "May 2024 10:00') AS b FROM events",
    "SELECT uuid, toDateTime64('2024-05-01 08:00:00', 6, 'UTC'), toDateTime64('2024-05-01 " +
      "10:00:00', 6, 'UTC') FROM mine",
  ],
  [
    'SELECT uuid, toDateTime(properties.when) AS w FROM events',
    "SELECT uuid, if(JSONHas(properties, 'when'), toDateTime64('2024-01-05 10:00:00', 6, " +
      "'UTC'), NULL) FROM mine",
  ],
  [
    'SELECT uuid, lower(event) AS l, upper(event) AS u, length(event) AS n, lengthUTF8(event) ' +
      'AS c FROM events',
    'SELECT uuid, lower(event), upper(event), length(event), lengthUTF8(event) FROM mine',
  ],
  [
    'SELECT uuid, substring(event, 2, 3) AS s, left(event, 2) AS l, right(event, 2) AS r FROM ' +
      'events',
    'SELECT uuid, substring(event, 2, 3), left(event, 2), right(event, 2) FROM mine',
  ],
  [
    "SELECT uuid, replaceAll(event, ' ', '_') AS s, replaceRegexpAll(event, '[aeiou]', '*') " +
      'AS r FROM events',
    "SELECT uuid, replaceAll(event, ' ', '_'), replaceRegexpAll(event, '[aeiou]', '*') FROM mine",
  ],
  [
    "SELECT uuid, replaceRegexpOne(event, '^(.)(.*)$', '\\\\2\\\\1') AS s FROM events",
    "SELECT uuid, replaceRegexpOne(event, '^(.)(.*)$', '\\\\2\\\\1') FROM mine",
  ],
  [
    "SELECT uuid, match(event, '^p') AS m, extract(event, '([a-z]+) view') AS e FROM events",
    "SELECT uuid, toBool(match(event, '^p')), extract(event, '([a-z]+) view') FROM mine",
  ],
  [
    "SELECT uuid, splitByChar(' ', event) AS w, arrayStringConcat(splitByChar(' ', event), " +
      "'+') AS j FROM events",
    "SELECT uuid, toJSONString(splitByChar(' ', event)), arrayStringConcat(splitByChar(' ', " +
      "event), '+') FROM mine",
  ],
  [
    "SELECT uuid, splitByChar(' ', event)[2] AS second FROM events",
    "SELECT uuid, splitByChar(' ', event)[2] FROM mine",
  ],
  [
    "SELECT uuid, position(event, 'view') AS p, startsWith(event, 'page') AS s FROM events",
    "SELECT uuid, position(event, 'view'), toBool(startsWith(event, 'page')) FROM mine",
  ],
  [
    "SELECT uuid, format('{}/{}', event, distinct_id) AS f, leftPad(distinct_id, 5, '*') AS l " +
      'FROM events',
    "SELECT uuid, format('{}/{}', event, distinct_id), leftPad(distinct_id, 5, '*') FROM mine",
  ],
  [
    'SELECT uuid, domain(properties.url) AS d, path(properties.url) AS p FROM events',
    "SELECT uuid, if(JSONHas(properties, 'url'), 'www.example.com', NULL), " +
      "if(JSONHas(properties, 'url'), '/a/b', NULL) FROM mine",
  ],
  [
    "SELECT uuid, extractURLParameter(properties.url, 'y') AS y, " +
      'cutQueryString(properties.url) AS c FROM events WHERE properties.url IS NOT NULL',
    "SELECT uuid, '2', 'https://www.example.com/a/b#f' FROM mine WHERE JSONHas(properties, 'url')",
  ],
  [
    'SELECT uuid, lower(hex(MD5(distinct_id))) AS h, lower(hex(SHA256(distinct_id))) AS s ' +
      'FROM events',
    'SELECT uuid, lower(hex(MD5(distinct_id))), lower(hex(SHA256(distinct_id))) FROM mine',
  ],
  [
    "SELECT uuid, JSONExtractInt(properties, 'n') AS n, JSONExtractString(properties, " +
      "'$browser') AS b FROM events",
    "SELECT uuid, JSONExtractInt(properties, 'n'), JSONExtractString(properties, '$browser') " +
      'FROM mine',
  ],
  [
    "SELECT uuid, JSONHas(properties, 'n') AS n, JSONLength(properties, 'tags') AS l, " +
      'JSONExtractKeys(properties) AS k FROM events',
    "SELECT uuid, toBool(JSONHas(properties, 'n')), JSONLength(properties, 'tags'), " +
      'toJSONString(JSONExtractKeys(properties)) FROM mine',
  ],
  [
    "SELECT uuid, JSONExtractArrayRaw(properties, 'tags') AS t FROM events",
    "SELECT uuid, toJSONString(JSONExtractArrayRaw(properties, 'tags')) FROM mine",
  ],
  [
    "SELECT uuid, arrayMap(x -> JSONExtractString(x, 'sku'), JSONExtractArrayRaw(properties, " +
      "'items')) AS skus FROM events",
    "SELECT uuid, toJSONString(arrayMap(x -> JSONExtractString(x, 'sku'), " +
      "JSONExtractArrayRaw(properties, 'items'))) FROM mine",
  ],
  [
    "SELECT uuid, arraySum(arrayMap(x -> JSONExtractInt(x, 'q'), " +
      "JSONExtractArrayRaw(properties, 'items'))) AS q FROM events",
    "SELECT uuid, arraySum(arrayMap(x -> JSONExtractInt(x, 'q'), " +
      "JSONExtractArrayRaw(properties, 'items'))) FROM mine",
  ],
  [
    "SELECT uuid, arrayFilter(w -> length(w) > 3 AND w != event, splitByChar(' ', event)) AS " +
      'long FROM events',
    "SELECT uuid, toJSONString(arrayFilter(w -> length(w) > 3 AND w != event, splitByChar(' " +
      "', event))) FROM mine",
  ],
  [
    'SELECT uuid, arrayMap((x, i) -> x * i, [10, 20], [1, 2]) AS m, arraySort(x -> -x, [1, 3, ' +
      '2]) AS s FROM events',
    "SELECT uuid, '[10,40]', '[3,2,1]' FROM mine",
  ],
  [
    'SELECT uuid, arrayMap(x -> arrayMap(y -> x + y, [1, 2]), [10, 20]) AS m FROM events',
    "SELECT uuid, '[[11,12],[21,22]]' FROM mine",
  ],
  [
    "SELECT uuid, has(['d1', 'd2'], distinct_id) AS h, indexOf(['d1', 'd2'], distinct_id) AS " +
      'i FROM events',
    "SELECT uuid, toBool(has(['d1', 'd2'], distinct_id)), indexOf(['d1', 'd2'], distinct_id) " +
      'FROM mine',
  ],
  [
    "SELECT uuid, hasAny(splitByChar(' ', event), ['view', 'up']) AS a, hasAll(splitByChar(' " +
      "', event), ['sign', 'up']) AS b FROM events",
    "SELECT uuid, toBool(hasAny(splitByChar(' ', event), ['view', 'up'])), " +
      "toBool(hasAll(splitByChar(' ', event), ['sign', 'up'])) FROM mine",
  ],
  [
    "SELECT uuid, (event, 1, true) AS t, (event, 2).1 AS first, tupleElement((1, 'x'), 2) AS " +
      'x FROM events',
    "SELECT uuid, toJSONString((event, 1, true)), event, 'x' FROM mine",
  ],
  [
    "SELECT uuid, map('event', event, 'id', distinct_id) AS m, map('a', 1)['a'] AS a, " +
      "map('a', 1)['b'] AS b FROM events",
    "SELECT uuid, toJSONString(map('event', event, 'id', distinct_id)), 1, 0 FROM mine",
  ],
  [
    'SELECT uuid, arrayDistinct([1, 1, 2]) AS d, arrayConcat([1], [2.5]) AS c, ' +
      'arrayReverse([1, 2]) AS r, arraySlice([1, 2, 3], 2, 1) AS s FROM events',
    "SELECT uuid, '[1,2]', '[1,2.5]', '[2,1]', '[2]' FROM mine",
  ],
  [
    "SELECT uuid, arrayZip([1, 2], ['a', 'b']) AS z, [] AS e, [timestamp] AS t FROM events",
    'SELECT uuid, \'[[1,"a"],[2,"b"]]\', \'[]\', toJSONString([timestamp]) FROM mine',
  ],
  [
    "SELECT uuid, arrayJoin(splitByChar(' ', event)) AS word FROM events",
    "SELECT uuid, arrayJoin(splitByChar(' ', event)) FROM mine",
  ],
  [
    'SELECT uuid, round(1.256, 2) AS r, floor(-1.5) AS f, abs(-3) AS a, greatest(1, 2.5) AS ' +
      'g, intDiv(7, 2) AS i FROM events',
    'SELECT uuid, 1.26, -2., 3, 2.5, 3 FROM mine',
  ],
  // The SQL of many tools.
  [
    "SELECT COUNT(*) AS n, COUNTIF(event = 'purchase') AS p, SUM(length(event)) AS s, " +
      "MAX(COALESCE(NULLIF(LOWER(event), ''), 'x')) AS m, MAX(DATE_TRUNC('day', timestamp)) AS " +
      'd FROM events',
    "SELECT count(), countIf(event = 'purchase'), sum(length(event)), max(event), " +
      'max(toStartOfDay(timestamp)) FROM mine',
  ],
  [
    'SELECT cityHash64(distinct_id) % 10 AS bucket, count() AS n FROM events WHERE ' +
      'cityHash64(uuid) % 2 < 2 GROUP BY bucket',
    'SELECT toString(cityHash64(distinct_id) % 10) AS bucket, count() FROM mine GROUP BY bucket',
  ],
  [
    "SELECT uuid, if(event = 'purchase', cityHash64(event), 0) AS h FROM events",
    "SELECT uuid, toString(if(event = 'purchase', cityHash64(event), 0)) FROM mine",
  ],
  [
    'SELECT uuid, [1, 2]::Array(String) AS a, CAST([length(event)] AS ' +
      'Array(Nullable(Float64))) AS b FROM events',
    `SELECT uuid, '["1","2"]', toJSONString([length(event)]) FROM mine`,
  ],
  [
    'SELECT uuid, arrayMap(x -> x > 1, [1, 2]) AS a, arrayMap(x -> (x, NOT x > 1), [1, 2]) AS ' +
      'b FROM events',
    "SELECT uuid, '[false,true]', '[[1,true],[2,false]]' FROM mine",
  ],
  [
    'SELECT uuid, greatest(NULL, 1, 3) AS g, least(properties.nothing, 2) AS l FROM events',
    'SELECT uuid, 3, 2. FROM mine',
  ],
  // The engine would read a date without a year as one of this year.
  [
    "SELECT uuid, parseDateTimeBestEffortOrNull('Jan 5') AS a, " +
      "parseDateTimeBestEffortOrZero('10:20') AS b, parseDateTimeBestEffortOrNull('5 Jan 10:00 " +
      "+0100') AS c, parseDateTimeBestEffortOrNull('0000-01-05') AS d FROM events",
    "SELECT uuid, NULL, toDateTime64(0, 6, 'UTC'), NULL, NULL FROM mine",
  ],
  [
    `SELECT ${dated
      .map((text, index) => `parseDateTimeBestEffort('${text}') = '2024-01-31' AS x${index}`)
      .join(', ')}
      FROM events LIMIT 1`,
    `SELECT ${dated.map(() => 'true').join(', ')}`,
  ],
  // A part outside of the search is neither replaced nor lost.
  [
    `SELECT length(replaceRegexpAll(concat(event, '${'ab'.repeat(4_000)}'), 'a|[^ab]', '')) AS n
      FROM events WHERE event = 'sign up'`,
    'SELECT 8007 - (7 + 2045)',
  ],
  [
    `SELECT replaceRegexpOne(concat('${'ab'.repeat(4_000)}', event), '[a-b]{100}$',
      'x') = concat('${'ab'.repeat(4_000)}', event) AS x FROM events WHERE event = 'sign up'`,
    'SELECT true',
  ],
  [
    "SELECT uuid, toInt64OrZero('x') AS z, toFloat64OrNull('1e3') AS f, toBool('true') AS b " +
      'FROM events',
    'SELECT uuid, 0, 1000., true FROM mine',
  ],
];
