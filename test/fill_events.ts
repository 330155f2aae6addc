import type { ClickHouse } from '../server/platform/clickhouse/client.ts';

/** How events are to be spread: over event time and over insertion time, both in milliseconds and half open. */
export type Filling = { team_id: number; events: number; event_from: number; event_to: number; inserted_from: number; inserted_to: number };

/** Rows that share an instant of insertion, as one commit of the ingestion would make them. */
const batch_rows = 10_000;

/**
 * Puts events of about 800 bytes straight into the store, made by the store itself, as fast as it can: for benches and kills, where what matters is how many there are. Insertion time grows
 * by batches of 10,000 rows; the uuids are random.
 */
export async function fillEvents(clickhouse: ClickHouse, filling: Filling): Promise<void> {
  const step = 1_000_000;
  for (let done = 0; done < filling.events; done += step) {
    await clickhouse.command({
      query: `
        INSERT INTO events (team_id, uuid, event, distinct_id, person_id, properties, person_properties, timestamp, created_at, inserted_at)
        SELECT {team_id:Int64}, generateUUIDv4(number), ['$pageview', 'product viewed', 'added to cart', 'order completed'][1 + number % 4], concat('visitor-', toString(intHash32(number) % 50000)), generateUUIDv4(number + 1),
          concat('{"$current_url":"https://shop.example/products/', toString(number % 1000), '?utm_source=newsletter&utm_campaign=spring","$browser":"', ['Chrome', 'Firefox', 'Safari'][1 + number % 3],
            '","$os":"Linux","$screen_width":1920,"price":', toString(number % 10000 / 100), ',"items":[{"sku":"A-', toString(intHash32(number)), '","quantity":', toString(1 + number % 5), '}],"note":"', hex(sipHash128(number)), hex(sipHash128(number + 7)), hex(sipHash128(number + 9)),
            '","session":"', toString(intHash64(intDiv(number, 20))), '","referrer":"https://search.example/?q=', lower(hex(intHash32(number))), '","$ip":"203.0.113.', toString(number % 255), '","nested":{"a":{"b":[1,2,3,null,true]},"text":"line one\\\\nline two"}}'),
          concat('{"plan":"', ['free', 'pro', 'team'][1 + number % 3], '","country":"', ['DE', 'FR', 'US', 'JP'][1 + number % 4], '"}'),
          fromUnixTimestamp64Milli(toInt64({event_from:Int64} + number * {event_span:Float64} / {events:UInt64}), 'UTC'),
          fromUnixTimestamp64Milli(toInt64({inserted_from:Int64} + intDiv(number, ${batch_rows}) * {batch_span:Float64}), 'UTC'),
          fromUnixTimestamp64Milli(toInt64({inserted_from:Int64} + intDiv(number, ${batch_rows}) * {batch_span:Float64}), 'UTC')
        FROM numbers({done:UInt64}, {step:UInt64})`,
      query_params: {
        team_id: filling.team_id,
        events: filling.events,
        event_from: filling.event_from,
        event_span: filling.event_to - filling.event_from,
        inserted_from: filling.inserted_from,
        batch_span: Math.max(1, Math.floor((filling.inserted_to - filling.inserted_from) / Math.ceil(filling.events / batch_rows))),
        done,
        step: Math.min(step, filling.events - done),
      },
    });
  }
}
