import type { WorkingQuery } from './works_values.ts';

/** Aggregates, groups, windows, order and limits. */
export const working_rows: WorkingQuery[] = [
  ['SELECT count() AS n FROM events', 'SELECT count() FROM mine'],
  [
    'SELECT count(*) AS n, count(properties.price) AS p, count(DISTINCT distinct_id) AS d ' +
      'FROM events',
    'SELECT 7, 4, 3',
  ],
  [
    'SELECT event, count() AS n FROM events GROUP BY event',
    'SELECT event, count() FROM mine GROUP BY event',
  ],
  [
    'SELECT event, count() AS n FROM events GROUP BY 1',
    'SELECT event, count() FROM mine GROUP BY event',
  ],
  [
    'SELECT event, count() AS n FROM events GROUP BY ALL',
    'SELECT event, count() FROM mine GROUP BY event',
  ],
  [
    'SELECT lower(event) AS event, count() AS n FROM events GROUP BY event',
    'SELECT lower(event) AS e, count() FROM mine GROUP BY e',
  ],
  [
    'SELECT properties.$browser AS b, count() AS n FROM events GROUP BY b',
    "SELECT nullIf(JSONExtractString(properties, '$browser'), '') AS b, count() FROM mine " +
      'GROUP BY b',
  ],
  [
    'SELECT properties.$browser AS b, count() AS n FROM events GROUP BY properties.$browser ' +
      'HAVING n > 1',
    "SELECT 'Firefox', 2 UNION ALL SELECT NULL, 4",
  ],
  [
    'SELECT toStartOfDay(timestamp) AS day, count() AS n FROM events GROUP BY day ORDER BY day',
    'SELECT toStartOfDay(timestamp) AS d, count() FROM mine GROUP BY d ORDER BY d',
  ],
  [
    "SELECT countIf(event = 'purchase') AS p, count() FILTER (WHERE event = 'purchase') AS q, " +
      "sum(event = 'purchase') AS r FROM events",
    'SELECT 2, 2, 2',
  ],
  [
    'SELECT sum(properties.n) AS s, avg(properties.n) AS a, min(timestamp) AS f, ' +
      'max(timestamp) AS l FROM events',
    'SELECT 22., 5.5, min(timestamp), max(timestamp) FROM mine',
  ],
  [
    "SELECT sumIf(length(event), distinct_id = 'd1') AS s, avgIf(1, event = 'x') AS a, " +
      'sumOrNull(1) AS o, sumIfOrNull(1, false) AS z FROM events',
    "SELECT sumIf(length(event), distinct_id = 'd1'), nan, 7, NULL FROM mine",
  ],
  [
    'SELECT uniq(distinct_id) AS u, uniqExact(event) AS e, uniq(event, distinct_id) AS p FROM ' +
      'events',
    'SELECT uniqExact(distinct_id), uniqExact(event), uniqExact(event, distinct_id) FROM mine',
  ],
  [
    'SELECT quantile(0.5)(length(event)) AS q, median(length(event)) AS m, quantiles(0, ' +
      '1)(length(event)) AS s FROM events',
    'SELECT quantile(0.5)(length(event)), median(length(event)), toJSONString(quantiles(0, ' +
      '1)(length(event))) FROM mine',
  ],
  [
    'SELECT distinct_id, argMin(event, timestamp) AS f, argMax(event, timestamp) AS l FROM ' +
      'events GROUP BY distinct_id',
    'SELECT distinct_id, argMin(event, (timestamp, event)), argMax(event, (timestamp, event)) ' +
      'FROM mine GROUP BY distinct_id',
  ],
  [
    'SELECT argMax(properties.n, properties.price) AS a, argMaxIf(event, timestamp, event ' +
      "LIKE 'p%') AS b FROM events",
    "SELECT '12', 'page view'",
  ],
  [
    'SELECT distinct_id, groupArray(event) AS e FROM events GROUP BY distinct_id',
    'SELECT distinct_id, toJSONString(arraySort(groupArray(event))) FROM mine GROUP BY distinct_id',
  ],
  [
    'SELECT groupUniqArray(event) AS e, groupArray(DISTINCT event) AS f, ' +
      'groupArray((timestamp, event))[1].2 AS g FROM events',
    'SELECT toJSONString(arraySort(groupUniqArray(event))), ' +
      'toJSONString(arraySort(groupUniqArray(event))), argMin(event, timestamp) FROM mine',
  ],
  [
    'SELECT groupArray(properties.$browser) AS b FROM events',
    'SELECT \'["Chrome","Firefox","Firefox"]\'',
  ],
  [
    'SELECT stddevPop(length(event)) AS s, varSamp(length(event)) AS v, corr(length(event), ' +
      'length(distinct_id)) AS c FROM events',
    'SELECT stddevPop(length(event)), varSamp(length(event)), corr(length(event), ' +
      'length(distinct_id)) FROM mine',
  ],
  [
    'SELECT count() + 1 AS a, sum(length(event)) / count() AS b, max(length(event)) - ' +
      'min(length(event)) AS c FROM events',
    'SELECT count() + 1, sum(length(event)) / count(), toInt64(max(length(event)) - ' +
      'min(length(event))) FROM mine',
  ],
  [
    'SELECT event, count() AS n, n * 2 AS twice FROM events GROUP BY event HAVING twice > 2 ' +
      'ORDER BY n DESC, event',
    'SELECT event, count() AS n, n * 2 FROM mine GROUP BY event HAVING n > 1 ' +
      'ORDER BY n DESC, event',
  ],
  [
    "SELECT if(event = 'purchase', 'buy', 'other') AS kind, count() AS n FROM events GROUP BY kind",
    "SELECT if(event = 'purchase', 'buy', 'other') AS k, count() FROM mine GROUP BY k",
  ],
  [
    'SELECT max(timestamp) AS timestamp FROM events GROUP BY distinct_id HAVING timestamp > ' +
      "'2024-01-09'",
    "SELECT max(timestamp) AS m FROM mine GROUP BY distinct_id HAVING m > '2024-01-09'",
  ],
  ['SELECT DISTINCT event FROM events', 'SELECT DISTINCT event FROM mine'],
  [
    'SELECT DISTINCT event, distinct_id FROM events ORDER BY event DESC, distinct_id',
    'SELECT DISTINCT event, distinct_id FROM mine ORDER BY event DESC, distinct_id',
  ],
  [
    'SELECT uuid FROM events ORDER BY timestamp DESC, uuid',
    'SELECT uuid FROM mine ORDER BY timestamp DESC, uuid',
  ],
  [
    'SELECT uuid FROM events ORDER BY timestamp DESC, uuid LIMIT 2',
    'SELECT uuid FROM mine ORDER BY timestamp DESC, uuid LIMIT 2',
  ],
  [
    'SELECT uuid FROM events ORDER BY timestamp, uuid LIMIT 2 OFFSET 3',
    'SELECT uuid FROM mine ORDER BY timestamp, uuid LIMIT 3, 2',
  ],
  [
    'SELECT uuid FROM events ORDER BY timestamp, uuid LIMIT 3, 2',
    'SELECT uuid FROM mine ORDER BY timestamp, uuid LIMIT 3, 2',
  ],
  ['SELECT uuid FROM events LIMIT 2', 'SELECT uuid FROM mine ORDER BY uuid LIMIT 2'],
  ['SELECT event FROM events OFFSET 5', 'SELECT event FROM mine ORDER BY event LIMIT 5, 100'],
  [
    'SELECT distinct_id, uuid FROM events ORDER BY timestamp DESC LIMIT 1 BY distinct_id',
    'SELECT distinct_id, uuid FROM mine ORDER BY timestamp DESC, distinct_id, uuid LIMIT 1 BY ' +
      'distinct_id',
  ],
  [
    'SELECT distinct_id, uuid FROM events ORDER BY timestamp LIMIT 1 OFFSET 1 BY distinct_id ' +
      'LIMIT 2',
    'SELECT distinct_id, uuid FROM mine ORDER BY timestamp, distinct_id, uuid LIMIT 1, 1 BY ' +
      'distinct_id LIMIT 2',
  ],
  [
    'SELECT uuid, properties.n AS n FROM events ORDER BY toFloat64(n) DESC NULLS LAST, uuid',
    "SELECT uuid, if(JSONType(properties, 'n') = 'Int64', JSONExtractRaw(properties, 'n'), " +
      'NULL) AS n FROM mine ORDER BY toFloat64OrNull(n) DESC NULLS LAST, uuid',
  ],
  [
    'SELECT uuid, row_number() OVER (PARTITION BY distinct_id ORDER BY timestamp) AS n FROM events',
    'SELECT uuid, row_number() OVER (PARTITION BY distinct_id ORDER BY timestamp, ' +
      'inserted_at, uuid) FROM mine',
  ],
  [
    'SELECT uuid, rank() OVER (PARTITION BY distinct_id ORDER BY timestamp) AS r, ' +
      'dense_rank() OVER w AS d FROM events WINDOW w AS (ORDER BY event)',
    'SELECT uuid, rank() OVER (PARTITION BY distinct_id ORDER BY timestamp), dense_rank() ' +
      'OVER (ORDER BY event) FROM mine',
  ],
  [
    'SELECT uuid, lag(event) OVER (PARTITION BY distinct_id ORDER BY timestamp) AS before, ' +
      'lead(event, 2) OVER (PARTITION BY distinct_id ORDER BY timestamp) AS behind FROM events',
    'SELECT uuid, lag(toNullable(event)) OVER (PARTITION BY distinct_id ORDER BY timestamp, ' +
      'uuid), lead(toNullable(event), 2) OVER (PARTITION BY distinct_id ORDER BY timestamp, ' +
      'uuid) FROM mine',
  ],
  [
    'SELECT uuid, sum(length(event)) OVER (PARTITION BY distinct_id ORDER BY timestamp ROWS ' +
      'BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM events',
    'SELECT uuid, sum(length(event)) OVER (PARTITION BY distinct_id ORDER BY timestamp, uuid ' +
      'ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM mine',
  ],
  [
    'SELECT uuid, count() OVER () AS n, avg(length(event)) OVER (PARTITION BY event) AS a ' +
      'FROM events',
    'SELECT uuid, count() OVER (), avg(length(event)) OVER (PARTITION BY event) FROM mine',
  ],
  [
    'SELECT uuid, first_value(event) OVER (PARTITION BY distinct_id ORDER BY timestamp) AS f, ' +
      'last_value(event) OVER (PARTITION BY distinct_id ORDER BY timestamp ROWS BETWEEN ' +
      'UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS l FROM events',
    'SELECT uuid, first_value(event) OVER (PARTITION BY distinct_id ORDER BY timestamp, ' +
      'uuid), last_value(event) OVER (PARTITION BY distinct_id ORDER BY timestamp, uuid ROWS ' +
      'BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM mine',
  ],
  [
    'SELECT uuid FROM events QUALIFY row_number() OVER (PARTITION BY distinct_id ORDER BY ' +
      'timestamp DESC) = 1',
    'SELECT argMax(uuid, (timestamp, -toInt64(right(toString(uuid), 2)))) FROM mine GROUP BY ' +
      'distinct_id',
  ],
  [
    'SELECT event, count() AS n, sum(count()) OVER () AS total, row_number() OVER (ORDER BY ' +
      'count() DESC) AS place FROM events GROUP BY event',
    'SELECT event, n, sum(n) OVER (), row_number() OVER (ORDER BY n DESC, event) FROM (SELECT ' +
      'event, count() AS n FROM mine GROUP BY event)',
  ],
  [
    "SELECT countIf(properties.ok) AS t, uniqExactIf(distinct_id, event = 'purchase') AS u, " +
      "minIf(timestamp, event = 'purchase') AS m FROM events",
    "SELECT 1, 1, toDateTime64('2024-01-10 08:15:30', 6, 'UTC')",
  ],
  [
    'SELECT arrayJoin(groupUniqArray(distinct_id)) AS d FROM events',
    'SELECT DISTINCT distinct_id FROM mine',
  ],
  [
    "SELECT any(event) AS a, anyIf(event, event > 'q') AS b, countDistinct(event) AS c, " +
      "countDistinctIf(event, event > 'q') AS d FROM events",
    "SELECT min(event), minIf(event, event > 'q'), uniqExact(event), uniqExactIf(event, event > " +
      "'q') FROM mine",
  ],
  [
    "SELECT uuid, lag(event, 1, 'none') OVER (PARTITION BY distinct_id ORDER BY timestamp) AS a, " +
      'lead(length(event), 1, properties.n) OVER (PARTITION BY distinct_id ORDER BY timestamp) ' +
      'AS b, leadInFrame(event) OVER (PARTITION BY distinct_id ORDER BY timestamp ROWS BETWEEN ' +
      'UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS c FROM events',
    "SELECT uuid, lag(event, 1, 'none') OVER w, lead(toNullable(toFloat64(length(event))), 1, " +
      "toFloat64(toInt64OrNull(JSONExtractRaw(properties, 'n')))) OVER w, " +
      'lead(toNullable(event)) OVER w FROM mine WINDOW w AS (PARTITION BY distinct_id ORDER BY ' +
      'timestamp, uuid)',
  ],
  [
    'SELECT uuid, last_value(properties.$browser) IGNORE NULLS OVER (ORDER BY timestamp) AS a, ' +
      'first_value(properties.n) IGNORE NULLS OVER (ORDER BY timestamp ROWS BETWEEN CURRENT ROW ' +
      'AND UNBOUNDED FOLLOWING) AS b, last_value(properties.$browser) RESPECT NULLS OVER (ORDER ' +
      'BY timestamp) AS c FROM events',
    'SELECT uuid, last_value(b) OVER (ORDER BY timestamp, inserted_at, uuid), first_value(n) ' +
      'OVER (ORDER BY timestamp, inserted_at, uuid ROWS BETWEEN CURRENT ROW AND UNBOUNDED ' +
      'FOLLOWING), last_value_respect_nulls(b) OVER (ORDER BY timestamp, inserted_at, uuid) ' +
      "FROM (SELECT *, JSONExtract(properties, '$browser', 'Nullable(String)') AS b, " +
      "nullIf(nullIf(JSONExtractRaw(properties, 'n'), ''), 'null') AS n FROM mine)",
  ],
  [
    'SELECT * EXCEPT (properties, person_properties, elements_chain), event AS "the event" FROM ' +
      "events WHERE event = 'purchase'",
    'SELECT uuid, timestamp, created_at, event, distinct_id, person_id, inserted_at, event FROM ' +
      "mine WHERE event = 'purchase'",
  ],
  [
    'SELECT e.* EXCLUDE properties FROM (SELECT uuid, event, properties FROM events) e',
    'SELECT uuid, event FROM mine',
  ],
  ['SELECT uuid, person.id AS p FROM events', 'SELECT uuid, person_id FROM mine'],
];
