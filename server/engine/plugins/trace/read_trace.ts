import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import type { ToolExchange } from '../sandbox/tool_outcome.ts';
import type { SendOutcome } from './send_outcomes.ts';

/** An attempt as it is stored. */
type StoredSend = {
  mapping: string;
  outcome: SendOutcome;
  status: number | null;
  reason: string | null;
  is_again: boolean;
  is_replay: boolean;
  at: string;
};

/** An attempt at one of several events by one of several configs. */
export type FoundSend = StoredSend & { event_uuid: string; plugin_config_id: number };

/** An attempt with its requests and answers; null: they were removed with another event's. */
export type TracedSend = StoredSend & { exchanges: ToolExchange[] | null };

/** The position of an event among the events of the project, by which the trace finds it. */
export type TracedEvent = { uuid: string; inserted_us: number };

const look_seconds_max = 10;
const sends_max = 1_000;

const columns = `mapping, outcome, if(status = 0, NULL, status) AS status,
  if(reason = '', NULL, reason) AS reason, toBool(is_again) AS is_again,
  toBool(is_replay) AS is_replay, inserted_at AS at`;

/** Lists the attempts at these events, oldest first. Uses the order of the table. */
export function listSends(
  clickhouse: ClickHouse,
  team_id: number,
  events: TracedEvent[],
): Promise<FoundSend[]> {
  if (events.length === 0) return Promise.resolve([]);
  return clickhouse.rows<FoundSend>({
    // An insert without an answer was repeated, so its rows exist twice.
    query: `SELECT DISTINCT event_uuid, plugin_config_id, ${columns} FROM tool_sends
      WHERE team_id = {team_id:Int64}
      AND event_inserted_at IN (
        SELECT fromUnixTimestamp64Micro(arrayJoin({places:Array(Int64)}), 'UTC'))
      AND event_inserted_at >= fromUnixTimestamp64Micro({first:Int64}, 'UTC')
      AND event_inserted_at <= fromUnixTimestamp64Micro({last:Int64}, 'UTC')
      AND event_uuid IN {uuids:Array(UUID)}
      ORDER BY at LIMIT ${sends_max}`,
    query_params: { team_id, ...placesOf(events), uuids: events.map(({ uuid }) => uuid) },
    clickhouse_settings: { max_execution_time: look_seconds_max },
  });
}

function placesOf(events: TracedEvent[]) {
  const places = events.map(({ inserted_us }) => inserted_us);
  return { places, first: Math.min(...places), last: Math.max(...places) };
}

/** Lists the attempts of one config at an event, newest first, with requests and answers. */
export async function listTraced(
  clickhouse: ClickHouse,
  { team_id, config_id }: { team_id: number; config_id: number },
  { uuid, inserted_us }: TracedEvent,
): Promise<TracedSend[]> {
  const rows = await clickhouse.rows<
    StoredSend & { exchanges: string | null; exchange_id: string }
  >({
    query: `WITH sends AS (
      SELECT DISTINCT ${columns}, exchange_id, exchange_at FROM tool_sends
      WHERE team_id = {team_id:Int64} AND plugin_config_id = {config_id:Int32}
        AND event_inserted_at = fromUnixTimestamp64Micro({place:Int64}, 'UTC')
        AND event_uuid = {uuid:UUID}
      ORDER BY at DESC LIMIT ${sends_max})
      SELECT sends.* EXCEPT exchange_at, kept.exchanges AS exchanges FROM sends
      LEFT ANY JOIN (SELECT id, toNullable(exchanges) AS exchanges FROM tool_exchanges
        WHERE team_id = {team_id:Int64} AND plugin_config_id = {config_id:Int32}
          AND (event_inserted_at, id) IN (SELECT exchange_at, exchange_id FROM sends)) kept
        ON kept.id = sends.exchange_id ORDER BY at DESC`,
    query_params: { team_id, config_id, place: inserted_us, uuid },
    clickhouse_settings: { max_execution_time: look_seconds_max },
  });
  return rows.map(({ exchanges, exchange_id: _, ...send }) => ({
    ...send,
    exchanges: exchanges === null ? null : (JSON.parse(exchanges) as ToolExchange[]),
  }));
}

/** Returns the position of an event in its project; undefined: it is not stored. */
export async function placeOf(
  clickhouse: ClickHouse,
  team_id: number,
  uuid: string,
): Promise<number | undefined> {
  const [row] = await clickhouse.rows<{ inserted_us: string }>({
    query: `SELECT toString(toUnixTimestamp64Micro(inserted_at)) AS inserted_us FROM events
      WHERE team_id = {team_id:Int64}
        AND toUInt128(uuid) = toUInt128(toUUID({uuid:String})) LIMIT 1`,
    query_params: { team_id, uuid },
    clickhouse_settings: { max_execution_time: look_seconds_max },
  });
  return row === undefined ? undefined : Number(row.inserted_us);
}
