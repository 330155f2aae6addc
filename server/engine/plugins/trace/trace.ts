import { v7 as uuidv7 } from 'uuid';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import type { Clock } from '../../../platform/clock.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import type { PluginEvent } from '../running/read_events.ts';
import type { ToolExchange } from '../sandbox/tool_outcome.ts';
import type { SendOutcome } from './send_outcomes.ts';

/** An attempt at an event by a mapping of a tool. */
export type Send = {
  event: Pick<PluginEvent, 'uuid' | 'event' | 'timestamp' | 'inserted_at'>;
  outcome: SendOutcome;
  status: number | null;
  /** The reason of a failure, masked. */
  reason: string;
  /** True if an earlier answer was lost: the tool may already have the event. */
  is_again: boolean;
  /** True if a person requested to send the event again. */
  is_replay: boolean;
};

/** Attempts that one call of a tool made. `exchanges` are masked. */
export type Sends = {
  team_id: number;
  config_id: number;
  mapping: string;
  sends: Send[];
  exchanges: ToolExchange[];
};

/** Stores what was sent to tools, and their answers. */
export type Trace = {
  /** Records attempts, which are stored within a second. Never throws. */
  note(sends: Sends): void;
  /**
   * Stores the recorded attempts. Never rejects: a trace that cannot be stored stops no delivery,
   * and is retried.
   */
  flush(): Promise<void>;
};

const flush_pause_ms = 1_000;
/** Interval between inserts, so that many tools share one. */
const insert_pause_ms = 50;
/** Some 100 MB. Further requests and answers are dropped while the store is unavailable. */
const kept_bytes_max = 64 * 1024 * 1024;
const kept_rows_max = 200_000;
const no_exchange = '00000000-0000-0000-0000-000000000000';

type Rows = { tool_sends: object[]; tool_exchanges: object[]; bytes: number };

const noRows = (): Rows => ({ tool_sends: [], tool_exchanges: [], bytes: 0 });

/** Opens the trace of a process. */
export function openTrace(clickhouse: ClickHouse, clock: Clock, log: Logger): Trace {
  let rows = noRows();
  let timer: NodeJS.Timeout | undefined;
  let inserting: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let inserted_at = 0;

  const insert = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const written = rows;
    rows = noRows();
    try {
      for (const table of ['tool_exchanges', 'tool_sends'] as const)
        if (written[table].length > 0)
          await clickhouse.insert({ table, values: written[table], format: 'JSONEachRow' });
    } catch (error) {
      log.warn({ err: error, rows: written.tool_sends.length }, 'a trace could not be stored');
      // Rows that were stored without an answer exist twice, and readers skip the duplicates.
      rows = joined(written, rows);
    }
    inserted_at = performance.now();
  };
  // Rows that arrive during an insert share the next one.
  const flush = async (): Promise<void> => {
    if (rows.tool_sends.length === 0) return inserting;
    next ??= (async () => {
      await inserting;
      const pause = inserted_at + insert_pause_ms - performance.now();
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      next = undefined;
      inserting = insert();
      await inserting;
      inserting = undefined;
    })();
    return next;
  };
  return {
    flush,
    note: (sends) => {
      add(rows, sends, isoInstant(clock.now()));
      timer ??= setTimeout(() => void flush(), flush_pause_ms);
    },
  };
}

function add(rows: Rows, { sends, exchanges, ...of }: Sends, now: string): void {
  const [first] = sends;
  if (first === undefined || rows.tool_sends.length >= kept_rows_max) return;
  const common = {
    team_id: of.team_id,
    plugin_config_id: of.config_id,
    inserted_at: stored(now),
  };
  const exchange_at = stored(first.event.inserted_at);
  const text = exchanges.length === 0 ? '' : JSON.stringify(exchanges);
  const isKept = text !== '' && rows.bytes + text.length <= kept_bytes_max;
  const exchange_id = isKept ? uuidv7() : no_exchange;
  for (const { event, outcome, status, reason, is_again, is_replay } of sends)
    rows.tool_sends.push({
      ...common,
      event_inserted_at: stored(event.inserted_at),
      event_uuid: event.uuid,
      event: event.event,
      event_timestamp: stored(event.timestamp),
      mapping: of.mapping,
      outcome,
      status: status ?? 0,
      reason,
      is_again: Number(is_again),
      is_replay: Number(is_replay),
      exchange_id,
      exchange_at,
    });
  if (!isKept) return;
  rows.bytes += text.length;
  rows.tool_exchanges.push({
    ...common,
    event_inserted_at: exchange_at,
    id: exchange_id,
    event: first.event.event,
    event_timestamp: stored(first.event.timestamp),
    exchanges: text,
  });
}

function joined(one: Rows, other: Rows): Rows {
  return {
    tool_sends: [...one.tool_sends, ...other.tool_sends].slice(0, kept_rows_max),
    tool_exchanges: [...one.tool_exchanges, ...other.tool_exchanges],
    bytes: one.bytes + other.bytes,
  };
}

/** Returns an instant in the store's form: its columns imply UTC. */
function stored(instant: string): string {
  return instant.replace('Z', '');
}
