/**
 * A query that must work, and hand-written SQL for the same rows over the views of
 * `openTwoProjects`.
 */
export type WorkingQuery = [query: string, sql: string];

/** Columns, properties, literals, operators and instants. */
export const working_values: WorkingQuery[] = [
  ['SELECT uuid, event FROM events', 'SELECT uuid, event FROM mine'],
  [
    'SELECT * FROM events',
    'SELECT uuid, timestamp, created_at, event, properties, distinct_id, elements_chain, ' +
      'person_properties, person_id, inserted_at FROM mine',
  ],
  [
    'SELECT e.* FROM events AS e',
    'SELECT uuid, timestamp, created_at, event, properties, distinct_id, elements_chain, ' +
      'person_properties, person_id, inserted_at FROM mine',
  ],
  ['SELECT team_id, uuid FROM events', 'SELECT 11, uuid FROM mine'],
  ['SELECT events.event AS name FROM events', 'SELECT event FROM mine'],
  ['SELECT `event`, "distinct_id" FROM `events`', 'SELECT event, distinct_id FROM mine'],
  ['select Event.event from events as Event', 'SELECT event FROM mine'],
  ['SELECT event -- the name\n/* and */ , uuid FROM events;', 'SELECT event, uuid FROM mine'],
  [
    'SELECT uuid, properties.$browser AS b FROM events',
    "SELECT uuid, nullIf(JSONExtractString(properties, '$browser'), '') FROM mine",
  ],
  [
    'SELECT uuid, properties.`a b` AS x FROM events',
    "SELECT uuid, nullIf(JSONExtractString(properties, 'a b'), '') FROM mine",
  ],
  [
    "SELECT uuid, properties['a b'] AS x FROM events",
    "SELECT uuid, nullIf(JSONExtractString(properties, 'a b'), '') FROM mine",
  ],
  [
    'SELECT uuid, properties."a b" AS x FROM events',
    "SELECT uuid, nullIf(JSONExtractString(properties, 'a b'), '') FROM mine",
  ],
  [
    'SELECT uuid, properties.nested.k.z AS z FROM events',
    "SELECT uuid, nullIf(JSONExtractRaw(properties, 'nested', 'k', 'z'), '') FROM mine",
  ],
  [
    "SELECT uuid, properties.nested['k'].z[2] AS z FROM events",
    "SELECT uuid, if(uuid::String LIKE '%1', '2', NULL) FROM mine",
  ],
  [
    'SELECT properties.tags[1] AS first, properties.tags[-1] AS last FROM events WHERE ' +
      'properties.tags IS NOT NULL',
    "SELECT 'a', 'b'",
  ],
  [
    'SELECT properties.items[1].sku AS sku FROM events WHERE properties.items IS NOT NULL',
    "SELECT 's1'",
  ],
  [
    'SELECT uuid, properties.price AS p FROM events',
    "SELECT uuid, multiIf(toString(uuid) LIKE '%1', '10.5', toString(uuid) LIKE '%2', '7', " +
      "toString(uuid) LIKE '%3', '99.99', toString(uuid) LIKE '%4', '1e400', NULL) FROM mine",
  ],
  [
    'SELECT properties.big AS b, properties.o AS o, properties.o.w AS w, properties.currency ' +
      "AS c FROM events WHERE properties.big != ''",
    'SELECT \'123456789012345678901234567890\', \'{"v":12345678901234567890123,"w":"x"}\', ' +
      "'x', 'EUR'",
  ],
  [
    'SELECT properties.q AS q, properties.s AS s, properties.u AS u, properties.lone AS l ' +
      'FROM events WHERE properties.q IS NOT NULL',
    "SELECT 'a\"b', 'line\\nbreak\\ttab', 'größe 😀', '\\xEF\\xBF\\xBD'",
  ],
  [
    'SELECT uuid, properties.ok AS ok FROM events',
    "SELECT uuid, multiIf(JSONType(properties, 'ok') = 'Bool', JSONExtractRaw(properties, " +
      "'ok'), NULL) FROM mine",
  ],
  [
    'SELECT uuid FROM events WHERE properties.ok',
    "SELECT uuid FROM mine WHERE JSONExtractBool(properties, 'ok')",
  ],
  [
    'SELECT uuid FROM events WHERE properties.ok = false',
    "SELECT uuid FROM mine WHERE JSONExtractRaw(properties, 'ok') = 'false'",
  ],
  [
    'SELECT uuid FROM events WHERE NOT properties.ok',
    "SELECT uuid FROM mine WHERE JSONExtractRaw(properties, 'ok') = 'false'",
  ],
  [
    'SELECT uuid FROM events WHERE properties.n IS NULL',
    "SELECT uuid FROM mine WHERE JSONExtractRaw(properties, 'n') IN ('', 'null')",
  ],
  [
    'SELECT uuid FROM events WHERE properties.price > 10',
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%1' OR toString(uuid) LIKE '%3' OR " +
      "toString(uuid) LIKE '%4'",
  ],
  [
    'SELECT uuid FROM events WHERE properties.price = 7',
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%2'",
  ],
  [
    "SELECT uuid FROM events WHERE properties.price = '7'",
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%2'",
  ],
  [
    'SELECT uuid FROM events WHERE 10.5 = properties.price',
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%1'",
  ],
  [
    'SELECT uuid FROM events WHERE properties.id = 9007199254740993',
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%1'",
  ],
  [
    'SELECT uuid FROM events WHERE properties.id = 9007199254740992',
    'SELECT uuid FROM mine WHERE 0',
  ],
  [
    'SELECT uuid FROM events WHERE properties.n IN (3, 12)',
    "SELECT uuid FROM mine WHERE JSONExtractInt(properties, 'n') IN (3, 12)",
  ],
  [
    'SELECT uuid FROM events WHERE properties.n NOT IN (3, 12)',
    "SELECT uuid FROM mine WHERE JSONExtractInt(properties, 'n') = -5",
  ],
  [
    'SELECT uuid FROM events WHERE properties.n BETWEEN 3 AND 11',
    "SELECT uuid FROM mine WHERE JSONExtractInt(properties, 'n') = 3",
  ],
  [
    'SELECT uuid FROM events WHERE properties.when > timestamp - INTERVAL 1 DAY',
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%1'",
  ],
  [
    'SELECT uuid FROM events WHERE properties.uid = uuid',
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%1'",
  ],
  [
    'SELECT uuid, properties.price * 2 AS twice FROM events WHERE properties.price < 50',
    "SELECT uuid, if(toString(uuid) LIKE '%1', 21, 14) FROM mine WHERE toString(uuid) LIKE " +
      "'%1' OR toString(uuid) LIKE '%2'",
  ],
  [
    'SELECT uuid, person.properties.plan AS plan FROM events',
    "SELECT uuid, nullIf(JSONExtractString(person_properties, 'plan'), '') FROM mine",
  ],
  [
    'SELECT uuid, e.person.properties.name AS name FROM events e',
    "SELECT uuid, nullIf(JSONExtractString(person_properties, 'name'), '') FROM mine",
  ],
  [
    'SELECT uuid, person_properties.plan AS plan FROM events',
    "SELECT uuid, nullIf(JSONExtractString(person_properties, 'plan'), '') FROM mine",
  ],
  [
    "SELECT uuid, 'it''s \\\\ \\'x\\' \\n {p0:String} ; -- 😀' AS t FROM events",
    "SELECT uuid, 'it\\'s \\\\ \\'x\\' \\n {p0:String} ; -- 😀' FROM mine",
  ],
  [
    'SELECT uuid, 1 AS i, -1 AS m, 1.5 AS f, 1e3 AS e, .5 AS h, 18446744073709551615 AS u, ' +
      'true AS t, NULL AS n FROM events',
    "SELECT uuid, 1, -1, 1.5, 1000, 0.5, '18446744073709551615', true, NULL FROM mine",
  ],
  [
    'SELECT uuid, -9223372036854775808 AS low, 9223372036854775807 AS high FROM events',
    'SELECT uuid, -9223372036854775808, 9223372036854775807 FROM mine',
  ],
  [
    'SELECT uuid, 1 + 2 * 3 - 4 AS a, (1 + 2) * 3 AS b, 7 / 2 AS c, 7 % 4 AS d, -(-3) AS e ' +
      'FROM events',
    'SELECT uuid, 3, 9, 3.5, 3, 3 FROM mine',
  ],
  [
    'SELECT uuid, length(event) + properties.n AS x FROM events',
    "SELECT uuid, if(JSONType(properties, 'n') = 'Int64', length(event) + " +
      "JSONExtractInt(properties, 'n'), NULL) FROM mine",
  ],
  [
    "SELECT uuid, event || '-' || distinct_id AS x FROM events",
    "SELECT uuid, concat(event, '-', distinct_id) FROM mine",
  ],
  [
    "SELECT uuid, event = 'purchase' AS p, event != 'purchase' AS q, event <> 'x' AS r, event " +
      "== 'x' AS s FROM events",
    "SELECT uuid, toBool(event = 'purchase'), toBool(event != 'purchase'), true, false FROM mine",
  ],
  [
    "SELECT uuid FROM events WHERE event = 'page view' AND distinct_id = 'd1' " +
      "OR event = 'purchase'",
    "SELECT uuid FROM mine WHERE (event = 'page view' AND distinct_id = 'd1') " +
      "OR event = 'purchase'",
  ],
  [
    "SELECT uuid FROM events WHERE NOT event = 'page view' AND NOT (distinct_id = 'd1')",
    "SELECT uuid FROM mine WHERE event != 'page view' AND distinct_id != 'd1'",
  ],
  [
    "SELECT uuid FROM events WHERE event LIKE 'p%'",
    "SELECT uuid FROM mine WHERE startsWith(event, 'p')",
  ],
  [
    "SELECT uuid FROM events WHERE event NOT LIKE 'p%' AND event ILIKE '%SIGN%'",
    "SELECT uuid FROM mine WHERE event = 'sign up'",
  ],
  [
    "SELECT uuid FROM events WHERE event LIKE '%\\\\\\\\%'",
    "SELECT uuid FROM mine WHERE position(event, '\\\\') > 0",
  ],
  [
    "SELECT uuid FROM events WHERE event IN ('purchase', 'sign up', 'it''s')",
    "SELECT uuid FROM mine WHERE event IN ('purchase', 'sign up')",
  ],
  [
    "SELECT uuid FROM events WHERE event NOT IN ('purchase')",
    "SELECT uuid FROM mine WHERE event != 'purchase'",
  ],
  [
    "SELECT uuid FROM events WHERE event IN ['purchase']",
    "SELECT uuid FROM mine WHERE event = 'purchase'",
  ],
  [
    "SELECT uuid FROM events WHERE event IN (distinct_id, 'purchase')",
    "SELECT uuid FROM mine WHERE event = 'purchase'",
  ],
  [
    "SELECT uuid FROM events WHERE (event, distinct_id) IN (('purchase', 'd2'), ('page view', " +
      "'d3'))",
    "SELECT uuid FROM mine WHERE (event, distinct_id) IN (('purchase', 'd2'), ('page view', 'd3'))",
  ],
  [
    "SELECT uuid FROM events WHERE uuid IN ('01890000-0000-7000-8000-000000000001', " +
      "'01890000-0000-7000-8000-000000000003')",
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%1' OR toString(uuid) LIKE '%3'",
  ],
  [
    "SELECT uuid FROM events WHERE uuid = '01890000-0000-7000-8000-000000000001'",
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%1'",
  ],
  [
    "SELECT uuid FROM events WHERE timestamp >= '2024-01-10' AND timestamp < '2024-01-11'",
    "SELECT uuid FROM mine WHERE event = 'purchase'",
  ],
  [
    "SELECT uuid FROM events WHERE timestamp = '2024-01-05T11:00:00.123456+01:00'",
    "SELECT uuid FROM mine WHERE event = 'sign up'",
  ],
  [
    "SELECT uuid FROM events WHERE timestamp BETWEEN '2024-01-10T08:15:30Z' AND '2024-01-10 09:00'",
    "SELECT uuid FROM mine WHERE event = 'purchase'",
  ],
  [
    "SELECT uuid FROM events WHERE timestamp IN ('2024-01-06 23:30:00')",
    "SELECT uuid FROM mine WHERE event = 'page view' AND distinct_id = 'd1'",
  ],
  [
    "SELECT uuid FROM events WHERE toDate(timestamp) = '2024-01-10'",
    "SELECT uuid FROM mine WHERE event = 'purchase'",
  ],
  [
    'SELECT uuid FROM events WHERE timestamp > now() - INTERVAL 1 WEEK',
    "SELECT uuid FROM mine WHERE timestamp > '2024-01-25'",
  ],
  [
    "SELECT uuid, timestamp + INTERVAL 2 HOUR AS a, timestamp - INTERVAL '3 days' AS b FROM events",
    'SELECT uuid, timestamp + INTERVAL 2 HOUR, timestamp - INTERVAL 3 DAY FROM mine',
  ],
  [
    'SELECT uuid, now() AS n, today() AS t, yesterday() AS y FROM events',
    "SELECT uuid, toDateTime64('2024-02-01 00:00:00', 6, 'UTC'), '2024-02-01', '2024-01-31' " +
      'FROM mine',
  ],
  [
    'SELECT uuid, fromUnixTimestamp(-99999999999999) AS a, timestamp - INTERVAL 3000 YEAR AS b, ' +
      'addYears(timestamp, 9000) < now() AS c, toDateTime(properties.nothing) AS d FROM events',
    "SELECT uuid, toDateTime64('0001-01-01 00:00:00', 6, 'UTC'), " +
      "toDateTime64('0001-01-01 00:00:00', 6, 'UTC'), false, " +
      "CAST(NULL, 'Nullable(DateTime64(6))') FROM mine",
  ],
];
