import { list } from './query_lists.ts';
import type { WorkingQuery } from './works_values.ts';

/** More literals than the client sends in a URL, which has 4,096 characters for them. */
const many = 400;

/** CASE, conditional functions, NULL, conversions and long lists of literals. */
export const working_conversions: WorkingQuery[] = [
  [
    "SELECT uuid, CASE WHEN event = 'purchase' THEN 1 WHEN event = 'sign up' THEN 2 ELSE 0 " +
      'END AS c FROM events',
    "SELECT uuid, multiIf(event = 'purchase', 1, event = 'sign up', 2, 0) FROM mine",
  ],
  [
    "SELECT uuid, CASE event WHEN 'purchase' THEN 'p' END AS c FROM events",
    "SELECT uuid, if(event = 'purchase', 'p', NULL) FROM mine",
  ],
  [
    "SELECT uuid, if(event = 'purchase', 1, 2.5) AS x, multiIf(event = 'purchase', 'a', 'b') " +
      'AS y FROM events',
    "SELECT uuid, if(event = 'purchase', 1., 2.5), if(event = 'purchase', 'a', 'b') FROM mine",
  ],
  [
    "SELECT uuid, coalesce(properties.missing, properties.$browser, 'none') AS x FROM events",
    "SELECT uuid, if(JSONHas(properties, '$browser'), JSONExtractString(properties, " +
      "'$browser'), 'none') FROM mine",
  ],
  [
    'SELECT uuid, ifNull(properties.n, 0) AS n FROM events',
    "SELECT uuid, JSONExtractFloat(properties, 'n') FROM mine",
  ],
  [
    "SELECT uuid, nullIf(event, 'purchase') AS x, isNull(properties.n) AS y FROM events",
    "SELECT uuid, nullIf(event, 'purchase'), toBool(JSONExtractRaw(properties, 'n') IN ('', " +
      "'null')) FROM mine",
  ],
  [
    'SELECT uuid, CAST(properties.n AS Int64) AS a, properties.n::Float64 AS b, CAST(1.9, ' +
      "'Int64') AS c, '5'::Int64 AS d FROM events",
    "SELECT uuid, toInt64OrNull(JSONExtractRaw(properties, 'n')), " +
      "toFloat64OrNull(JSONExtractRaw(properties, 'n')), 1, 5 FROM mine",
  ],
  [
    'SELECT uuid, toString(timestamp) AS a, toString(true) AS b, toString([1, 2]) AS c, ' +
      'uuid::text AS d FROM events',
    "SELECT uuid, toString(timestamp), 'true', '[1,2]', toString(uuid) FROM mine",
  ],
  [
    'SELECT uuid, event::Nullable(String) AS a, 1::Nullable(Float64) AS b FROM events',
    'SELECT uuid, event, 1. FROM mine',
  ],
  [
    'SELECT uuid, toFloat64(properties.digits) AS a, toInt64OrNull(event) AS b, ' +
      "toUUIDOrNull('x') AS c FROM events",
    "SELECT uuid, if(JSONHas(properties, 'q') OR toString(uuid) NOT LIKE '%4', NULL, 77.), " +
      'NULL, NULL FROM mine',
  ],
  [
    `SELECT uuid, length([${list(many, (index) => `'${index}'`)}]) AS n FROM events`,
    `SELECT uuid, ${many} FROM mine`,
  ],
  [
    'SELECT uuid, toBool(lower(properties.ok)) AS a, toInt64(lower(properties.digits)) AS b FROM ' +
      'events',
    "SELECT uuid, if(JSONHas(properties, 'ok'), JSONExtractBool(properties, 'ok'), NULL)::" +
      "Nullable(Bool), if(toString(uuid) LIKE '%4', 77, NULL) FROM mine",
  ],
  [
    "SELECT uuid, toDate(timestamp, 'Asia/Tokyo') AS a, toDate(midnight) AS b, " +
      "toMonth(midnight + INTERVAL 3 HOUR) AS c, formatDateTime(midnight, '%d %H:%i') AS d, " +
      'toStartOfWeek(midnight) ' +
      "AS e, toDate(toStartOfHour(timestamp, 'Asia/Kolkata')) AS f, " +
      "dateDiff('day', toStartOfDay(timestamp, 'Europe/Berlin'), timestamp) AS g FROM (SELECT " +
      "*, dateTrunc('day', timestamp, 'Europe/Berlin') AS midnight FROM events)",
    "WITH toStartOfDay(timestamp, 'Europe/Berlin') AS midnight SELECT uuid, " +
      "toString(toDate(timestamp, 'Asia/Tokyo')), toString(toDate(midnight)), " +
      "toMonth(midnight + INTERVAL 3 HOUR), formatDateTime(midnight, '%d %H:%i'), " +
      'toString(toStartOfWeek(midnight)), ' +
      "toString(toDate(toStartOfHour(timestamp, 'Asia/Kolkata'))), 0 FROM mine",
  ],
  [
    'SELECT uuid, midnight - INTERVAL 1 DAY AS a, toDate(midnight - INTERVAL 1 DAY) AS b, ' +
      "subtractDays(midnight, 1) AS c, dateAdd('month', 1, midnight) AS d FROM (SELECT uuid, " +
      "toStartOfDay(toDateTime('2024-04-01 12:00:00'), 'Europe/Berlin') AS midnight FROM events)",
    "SELECT uuid, toDateTime64('2024-03-30 23:00:00', 6, 'UTC') AS a, '2024-03-31', a, " +
      "toDateTime64('2024-04-30 22:00:00', 6, 'UTC') FROM mine",
  ],
  [
    "SELECT uuid, parseDateTimeBestEffort('2024-07-01 00:30', 'Europe/Berlin') AS a, " +
      "toDate(parseDateTimeBestEffortOrNull(properties.when, 'Asia/Tokyo')) AS b FROM events",
    "SELECT uuid, toDateTime64('2024-06-30 22:30:00', 6, 'UTC'), if(JSONHas(properties, 'when'), " +
      "'2024-01-05', NULL) FROM mine",
  ],
  [
    'SELECT uuid, toUInt64(5) AS u, cityHash64(event) AS h FROM events',
    "SELECT uuid, '5', toString(cityHash64(event)) FROM mine",
  ],
  [
    "SELECT uuid, properties.$browser ?? 'none' AS a, properties.missing ?? properties.n ?? 0 AS " +
      "b, (properties.n ?? 1) > 2 AS c FROM events WHERE properties.ok ?? true AND event != ''",
    "SELECT uuid, if(JSONHas(properties, '$browser'), JSONExtractString(properties, " +
      "'$browser'), 'none'), toFloat64(ifNull(toInt64OrNull(JSONExtractRaw(properties, 'n')), " +
      "0)), toBool(ifNull(toInt64OrNull(JSONExtractRaw(properties, 'n')), 1) > 2) FROM mine " +
      "WHERE JSONExtractRaw(properties, 'ok') != 'false'",
  ],
  [
    "SELECT uuid, toInt(event) AS a, toInt('5') AS b, toInt(1 + 1) AS c, toFloat(event) AS d, " +
      "toFloat('1.5') AS e, toInt(properties.n) AS f, toDateOrNull(event) AS g, " +
      "toDateTimeOrNull('2024-01-02') AS h, toIntOrZero(event) AS i, toFloat(length(event)) AS j " +
      'FROM events',
    'SELECT uuid, NULL, 5, 2, NULL, 1.5, toInt64OrNull(JSONExtractRaw(properties, ' +
      "'n')), NULL, toDateTime64('2024-01-02 00:00:00', 6, 'UTC'), 0, toFloat64(length(event)) " +
      'FROM mine',
  ],
  [
    "SELECT uuid, toDateTime('2024-01-02 00:00:00', 'Europe/Berlin') AS a, " +
      "toDateTime(timestamp, 'Asia/Tokyo') AS b, toDateTime(properties.when, 'UTC') AS c, " +
      "toDateTime64('2024-01-02 03:04:05.5', 3, 'UTC') AS d FROM events",
    "SELECT uuid, toDateTime64('2024-01-01 23:00:00', 6, 'UTC'), timestamp, " +
      "if(JSONHas(properties, 'when'), toDateTime64('2024-01-05 10:00:00', 6, 'UTC'), NULL), " +
      "toDateTime64('2024-01-02 03:04:05.5', 6, 'UTC') FROM mine",
  ],
  [
    "SELECT uuid, toTimeZone(timestamp, 'Asia/Tokyo') AS a, toHour(toTimeZone(timestamp, " +
      "'Asia/Tokyo')) AS b, toDate(toTimeZone(timestamp, 'Asia/Tokyo')) AS c, " +
      "formatDateTime(toTimeZone(timestamp, 'Asia/Tokyo'), '%d %H') AS d, " +
      "toString(toTimeZone(timestamp, 'Asia/Tokyo')) AS e, monthName(toTimeZone(timestamp, " +
      "'Asia/Tokyo')) AS f FROM events",
    "SELECT uuid, timestamp, toInt64(toHour(timestamp, 'Asia/Tokyo')), " +
      "toString(toDate(timestamp, 'Asia/Tokyo')), formatDateTime(timestamp, '%d %H', " +
      "'Asia/Tokyo'), toString(toTimeZone(timestamp, 'Asia/Tokyo')), dateName('month', " +
      "timestamp, 'Asia/Tokyo') FROM mine",
  ],
  [
    'SELECT uuid, timestamp - toIntervalDay(1) AS a, toStartOfInterval(timestamp, ' +
      'toIntervalHour(6)) AS b, addQuarters(timestamp, 1) AS c, subtractYears(timestamp, 1) AS d ' +
      'FROM events',
    'SELECT uuid, timestamp - INTERVAL 1 DAY, toDateTime64(toStartOfInterval(timestamp, ' +
      "INTERVAL 6 HOUR), 6, 'UTC'), timestamp + INTERVAL 1 QUARTER, timestamp - INTERVAL 1 YEAR " +
      'FROM mine',
  ],
  [
    "SELECT uuid, substr(event, 1, 3) AS a, lpad(event, 4, '*') AS b, replace(event, 'a', 'b') " +
      "AS c, power(2, 3) AS d, ln(1) AS e, date_diff('hour', timestamp, inserted_at) AS f, " +
      "LTRIM(' a') AS g FROM events",
    "SELECT uuid, substring(event, 1, 3), leftPad(event, 4, '*'), replaceAll(event, 'a', 'b'), " +
      "8., 0., dateDiff('hour', timestamp, inserted_at), 'a' FROM mine",
  ],
];
