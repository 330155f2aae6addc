import type { ClickHouse } from '../../../server/platform/clickhouse/client.ts';

/**
 * The rows to fill: rows of one project with event times in [from, to) and insertion times spread
 * the same way. Instants in milliseconds since the epoch.
 */
export type Fill = {
  team_id: number;
  events: number;
  from: number;
  to: number;
  /** Insertion times; by default the times of the events. */
  inserted_from?: number;
  inserted_to?: number;
};

// Rows with one insertion time, as ingestion under load creates them.
const batch_rows = 10_000;
const chunk_rows = 1_000_000;

/**
 * Inserts events directly into the store, for benches: properties of about 500 bytes, 1,000
 * distinct ids for 100,000 events, ten event names. It bypasses ingestion, so nothing else may
 * write to the project meanwhile, and uuids are random.
 */
export async function fillEvents(clickhouse: ClickHouse, fill: Fill): Promise<void> {
  const { inserted_from = fill.from, inserted_to = fill.to } = fill;
  const persons = Math.max(100, Math.ceil(fill.events / 100));
  for (let first = 0; first < fill.events; first += chunk_rows) {
    await clickhouse.command({
      query: `
        INSERT INTO events (team_id, uuid, event, distinct_id, person_id, properties,
          person_properties, elements_chain, timestamp, created_at, inserted_at)
        SELECT {team_id:Int64}, generateUUIDv4(number), names[number % 10 + 1], concat('user_',
          toString(cityHash64(number) % {persons:UInt64})) AS person,
          reinterpretAsUUID(sipHash128(person)),
          concat('{"$current_url":"https://shop.example.com/p/', toString(number % 5000), '?ref=',
            hex(cityHash64(number, 1)), '","$browser":"', browsers[number % 4 + 1],
            '","$session_id":"', toString(generateUUIDv4(number + 1000000000000)), '","price":',
              toString(cityHash64(number, 3) % 100000 / 100), ',"items":[',
            toString(number % 7), ',', toString(number % 11), '],"text":"', hex(sipHash128(number)),
              repeat(' lorem ipsum dolor', 12), '"}'),
          '{"plan":"free","country":"DE"}', '',
          fromUnixTimestamp64Micro({from:Int64} + toInt64(number / {events:Float64} * {span:Int64}),
            'UTC'),
          inserted, fromUnixTimestamp64Milli({inserted_from:Int64} + toInt64(intDiv(number,
            ${batch_rows}) * ${batch_rows} / {events:Float64} * {inserted_span:Int64}),
            'UTC') AS inserted
        FROM (SELECT number, ['$pageview', 'product viewed', '$pageview', 'added to cart',
          'checkout started', 'order completed', '$pageview', 'signed in', 'searched',
          '$pageleave'] AS names,
          ['Chrome', 'Safari', 'Firefox', 'Mobile Safari'] AS browsers
            FROM numbers({first:UInt64}, {rows:UInt64}))`,
      query_params: {
        team_id: fill.team_id,
        persons,
        events: fill.events,
        from: fill.from * 1_000,
        span: (fill.to - fill.from) * 1_000,
        inserted_from,
        inserted_span: inserted_to - inserted_from,
        first,
        rows: Math.min(chunk_rows, fill.events - first),
      },
    });
  }
}
