import { insertRows } from '../factories/events/insert_rows.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';

/** An event in the store; `at` and `taken` are microseconds. */
export type StoredEvent = {
  uuid: string;
  event: string;
  distinct_id: string;
  person_id: string;
  properties: Record<string, unknown>;
  at: number;
  taken: number;
};

/** Returns microseconds in a form that both stores read. */
export function instantOf(at: number | string): string {
  const whole = Math.floor(Number(at) / 1_000);
  const rest = String(Number(at) - whole * 1_000).padStart(3, '0');
  return `${new Date(whole).toISOString().replace('T', ' ').replace('Z', '')}${rest}+00`;
}

/** Inserts events as one batch that was ingested at their instant. */
export async function insert(
  clickhouse: ClickHouse,
  team_id: number,
  events: StoredEvent[],
): Promise<void> {
  const instant = (at: number) => instantOf(at).replace('+00', '');
  if (events.length === 0) return;
  await insertRows(
    clickhouse,
    events.map(({ properties, at, taken, ...event }) => ({
      ...event,
      team_id,
      // A number that ClickHouse's JSON reader refuses.
      properties: JSON.stringify(properties).replace('"BIG"', '12345678901234567890123'),
      timestamp: instant(at),
      created_at: instant(taken),
      inserted_at: instant(taken),
    })),
  );
}

/** Removes events, each in the batch that brought it. */
export async function remove(
  clickhouse: ClickHouse,
  team_id: number,
  events: StoredEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const gone = [...new Set(events.map(({ uuid, taken }) => `('${uuid}', ${taken})`))];
  await clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = {team_id:Int64}
      AND (toString(uuid), toUnixTimestamp64Micro(inserted_at)) IN (${gone.join(', ')})`,
    query_params: { team_id },
    clickhouse_settings: { mutations_sync: '2', max_query_size: '16000000' },
    use_multipart_params_auto: true,
  });
}

/** Records that rows made of events lost some, as an erasure does. */
export async function noteRemovals(
  clickhouse: ClickHouse,
  team_id: number,
  kind: 'session' | 'group',
  ids: string[],
  at: number,
): Promise<void> {
  await clickhouse.insert({
    table: `${kind}_removals`,
    values: ids.map((id) => ({
      team_id,
      [`${kind}_id`]: id,
      inserted_at: instantOf(at).replace('+00', ''),
    })),
    format: 'JSONEachRow',
  });
}
