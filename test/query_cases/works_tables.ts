import type { WorkingQuery } from './works_values.ts';

/** Subqueries, WITH, joins and unions, for an export of events. */
export const working_tables: WorkingQuery[] = [
  ['SELECT e FROM (SELECT event AS e FROM events)', 'SELECT event FROM mine'],
  [
    'SELECT t.e, t.n FROM (SELECT event AS e, count() AS n FROM events GROUP BY e) AS t WHERE ' +
      't.n > 1',
    'SELECT event, count() AS n FROM mine GROUP BY event HAVING n > 1',
  ],
  [
    'SELECT price FROM (SELECT properties.price AS price FROM events) WHERE price > 50',
    "SELECT '99.99' UNION ALL SELECT '1e400'",
  ],
  [
    'SELECT p.o.w AS w FROM (SELECT properties AS p FROM events) WHERE p.o IS NOT NULL',
    "SELECT 'x'",
  ],
  [
    "WITH big AS (SELECT uuid, event FROM events WHERE event = 'purchase') SELECT * FROM big",
    "SELECT uuid, event FROM mine WHERE event = 'purchase'",
  ],
  [
    'WITH a AS (SELECT event FROM events), b AS (SELECT event AS x FROM a) SELECT count() AS ' +
      'n FROM b',
    'SELECT count() FROM mine',
  ],
  [
    "WITH 'purchase' AS wanted, length(event) AS n SELECT uuid, n FROM events WHERE event = wanted",
    "SELECT uuid, length(event) FROM mine WHERE event = 'purchase'",
  ],
  ['WITH events AS (SELECT event AS e FROM events) SELECT e FROM events', 'SELECT event FROM mine'],
  [
    'WITH (SELECT max(timestamp) FROM events) AS latest SELECT uuid FROM events WHERE ' +
      'timestamp = latest',
    'SELECT uuid FROM mine WHERE timestamp = (SELECT max(timestamp) FROM mine)',
  ],
  [
    'SELECT uuid FROM events WHERE timestamp = (SELECT max(timestamp) FROM events)',
    'SELECT uuid FROM mine WHERE timestamp = (SELECT max(timestamp) FROM mine)',
  ],
  ['SELECT uuid, (SELECT count() FROM persons) AS people FROM events', 'SELECT uuid, 3 FROM mine'],
  [
    'SELECT uuid FROM events WHERE distinct_id IN (SELECT distinct_id FROM persons WHERE ' +
      "properties.plan = 'team')",
    "SELECT uuid FROM mine WHERE distinct_id = 'd3'",
  ],
  [
    'SELECT uuid FROM events WHERE distinct_id NOT IN (SELECT distinct_id FROM persons WHERE ' +
      'is_deleted)',
    "SELECT uuid FROM mine WHERE distinct_id != 'd2'",
  ],
  [
    'SELECT uuid FROM events WHERE (distinct_id, event) IN (SELECT distinct_id, min(event) ' +
      'FROM events GROUP BY distinct_id)',
    'SELECT uuid FROM mine WHERE (distinct_id, event) IN (SELECT distinct_id, min(event) FROM ' +
      'mine GROUP BY distinct_id)',
  ],
  [
    "SELECT uuid FROM events WHERE properties.digits IN (SELECT '77' AS x)",
    "SELECT uuid FROM mine WHERE toString(uuid) LIKE '%4'",
  ],
  [
    'SELECT e.uuid, p.properties.plan AS plan, p.is_deleted FROM events e LEFT JOIN persons p ' +
      'ON e.distinct_id = p.distinct_id',
    "SELECT mine.uuid, JSONExtractString(people.properties, 'plan'), " +
      'toBool(people.is_deleted) FROM mine LEFT JOIN people ON mine.distinct_id = ' +
      'people.distinct_id',
  ],
  [
    'SELECT e.uuid, p.properties.plan AS plan FROM events e LEFT JOIN persons p ON ' +
      "e.distinct_id = p.distinct_id AND p.properties.plan = 'pro'",
    "SELECT uuid, if(distinct_id = 'd1', 'pro', NULL) FROM mine",
  ],
  [
    'SELECT e.uuid, person.properties.plan AS now FROM events e JOIN persons AS person ON ' +
      'e.person_id = person.person_id',
    "SELECT mine.uuid, JSONExtractString(people.properties, 'plan') FROM mine JOIN people ON " +
      'mine.person_id = people.person_id',
  ],
  [
    'SELECT uuid, city FROM events JOIN (SELECT distinct_id AS d, properties.city AS city ' +
      'FROM persons) AS p ON distinct_id = d',
    "SELECT uuid, if(distinct_id = 'd1', 'Bonn', NULL) FROM mine",
  ],
  [
    'WITH p AS (SELECT distinct_id AS d, person_version AS v FROM persons) SELECT e.uuid, p.v ' +
      'FROM events AS e JOIN p ON e.distinct_id = p.d',
    'SELECT mine.uuid, people.person_version FROM mine JOIN people ON mine.distinct_id = ' +
      'people.distinct_id',
  ],
  [
    'SELECT a.uuid, b.uuid AS other FROM events a JOIN events b ON a.timestamp = b.timestamp ' +
      'AND a.distinct_id = b.distinct_id WHERE a.uuid < b.uuid',
    'SELECT a.uuid, b.uuid FROM mine a JOIN mine b ON a.timestamp = b.timestamp AND ' +
      'a.distinct_id = b.distinct_id WHERE a.uuid < b.uuid',
  ],
  [
    'SELECT distinct_id, count() AS n FROM events JOIN persons USING (distinct_id) GROUP BY ' +
      'distinct_id',
    'SELECT distinct_id, count() FROM mine GROUP BY distinct_id',
  ],
  [
    'SELECT p.distinct_id, count(e.uuid) AS n FROM events e RIGHT JOIN persons p ON ' +
      "e.distinct_id = p.distinct_id AND e.event = 'purchase' GROUP BY p.distinct_id",
    "SELECT 'd1', 0 UNION ALL SELECT 'd2', 2 UNION ALL SELECT 'd3', 0",
  ],
  [
    'SELECT e.event, p.person_version AS v FROM events e FULL JOIN persons p ON e.distinct_id ' +
      "= p.distinct_id AND e.event = 'purchase' WHERE p.distinct_id IS NULL OR e.event IS NULL",
    "SELECT event, CAST(NULL, 'Nullable(Int64)') FROM mine WHERE event != 'purchase' UNION " +
      'ALL SELECT NULL, 2 UNION ALL SELECT NULL, 5',
  ],
  ['SELECT count() AS n FROM events, persons', 'SELECT 21'],
  [
    'SELECT count() AS n FROM events CROSS JOIN (SELECT DISTINCT event FROM events) AS k',
    'SELECT 7 * (SELECT uniqExact(event) FROM mine)',
  ],
  [
    'SELECT e.uuid, f.first FROM events e JOIN (SELECT distinct_id, min(timestamp) AS first ' +
      'FROM events GROUP BY distinct_id) f ON e.distinct_id = f.distinct_id',
    'SELECT mine.uuid, f.first FROM mine JOIN (SELECT distinct_id, min(timestamp) AS first ' +
      'FROM mine GROUP BY distinct_id) f ON mine.distinct_id = f.distinct_id',
  ],
  [
    'SELECT event AS x FROM events UNION ALL SELECT distinct_id FROM persons',
    'SELECT event FROM mine UNION ALL SELECT distinct_id FROM people_changed',
  ],
  [
    'SELECT 1 AS x, event FROM events UNION ALL SELECT 1.5, distinct_id FROM events',
    'SELECT 1., event FROM mine UNION ALL SELECT 1.5, distinct_id FROM mine',
  ],
  [
    'SELECT properties.n AS x FROM events UNION ALL SELECT event FROM events',
    "SELECT if(JSONType(properties, 'n') = 'Int64', JSONExtractRaw(properties, 'n'), NULL) " +
      'FROM mine UNION ALL SELECT event FROM mine',
  ],
  [
    'SELECT event FROM events UNION DISTINCT SELECT event FROM events',
    'SELECT DISTINCT event FROM mine',
  ],
  [
    '(SELECT uuid FROM events ORDER BY uuid LIMIT 1) UNION ALL (SELECT uuid FROM events ORDER ' +
      'BY uuid DESC LIMIT 1)',
    'SELECT min(uuid) FROM mine UNION ALL SELECT max(uuid) FROM mine',
  ],
  [
    'SELECT * FROM (SELECT event AS x FROM events UNION ALL SELECT distinct_id FROM persons) ' +
      'ORDER BY x DESC LIMIT 3',
    'SELECT * FROM (SELECT event AS x FROM mine UNION ALL SELECT distinct_id FROM ' +
      'people_changed) ORDER BY x DESC LIMIT 3',
  ],
  [
    'SELECT distinct_id, person_version FROM persons',
    'SELECT distinct_id, person_version FROM people_changed',
  ],
  [
    'SELECT e.uuid, coalesce(d.person_id, e.person_id) AS person, d.version AS v FROM events e ' +
      'LEFT JOIN person_distinct_ids d ON d.distinct_id = e.distinct_id',
    "SELECT uuid, person_id, if(distinct_id IN ('d1', 'd2'), 1, NULL) FROM mine",
  ],
  ['SELECT team_id AS event, event AS team_id FROM events', 'SELECT 11, event FROM mine'],
  [
    'SELECT uuid AS events, event AS persons FROM events AS persons',
    'SELECT uuid, event FROM mine',
  ],
  [
    'SELECT x.y FROM (SELECT z.y FROM (SELECT event AS y FROM events) AS z) AS x',
    'SELECT event FROM mine',
  ],
  [
    'SELECT `a b`, `c``d`, `é 😀` FROM (SELECT event AS `a b`, distinct_id AS `c``d`, uuid AS ' +
      '`é 😀` FROM events)',
    'SELECT event, distinct_id, uuid FROM mine',
  ],
];

/** For an export of distinct ids: January has one new distinct id. */
export const working_person_distinct_ids: WorkingQuery[] = [
  [
    'SELECT * FROM person_distinct_ids',
    "SELECT 11, distinct_id, person_id, 1, false, inserted_at FROM people WHERE distinct_id = 'd2'",
  ],
  [
    'SELECT d.distinct_id, p.properties.plan AS plan FROM person_distinct_ids d JOIN persons p ' +
      'ON p.person_id = d.person_id',
    "SELECT 'd2', 'free'",
  ],
  ['SELECT max(version) AS v FROM person_distinct_ids', 'SELECT 1'],
];

/** For an export of persons. */
export const working_persons: WorkingQuery[] = [
  [
    'SELECT * FROM persons',
    'SELECT 11, distinct_id, person_id, properties, person_distinct_id_version, ' +
      'person_version, created_at, toBool(is_deleted), inserted_at FROM people_changed',
  ],
  [
    'SELECT distinct_id, properties.plan AS plan, properties.age AS age FROM persons WHERE ' +
      'NOT is_deleted',
    "SELECT 'd1', 'pro', '31'",
  ],
  [
    'SELECT p.distinct_id, count(e.uuid) AS n FROM persons p LEFT JOIN events e ON ' +
      'e.distinct_id = p.distinct_id GROUP BY p.distinct_id',
    "SELECT 'd1', 4 UNION ALL SELECT 'd2', 2",
  ],
  [
    'SELECT distinct_id FROM persons WHERE distinct_id IN (SELECT distinct_id FROM events ' +
      "WHERE event = 'before')",
    "SELECT 'd1'",
  ],
  ['SELECT max(person_version) AS v FROM persons', 'SELECT 2'],
  ['SELECT event FROM events', 'SELECT event FROM mine'],
];
