import { counted } from '../../../platform/counted.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { mappingName } from '../tools/mappings.ts';
import { HoldError } from './hold.ts';
import type { LoadedTool } from './loaded_tool.ts';
import type { PluginLog } from './plugin_log.ts';
import { readEvent } from './read_events.ts';
import { ToolRetryError } from './tool_retry.ts';
import { listSetAside, removeSetAside, setAside } from './set_aside.ts';

/** The parts of a resending. */
type Resending = {
  db: Database;
  clickhouse: ClickHouse;
  config_id: number;
  team_id: number;
  tool: LoadedTool;
  log: PluginLog;
};

/**
 * Sends the events again that were set aside, the oldest first: all of them, or one. An event that
 * is refused once more stays. Throws a ToolRetryError or a HoldError if the tool takes nothing now;
 * the rest stays.
 */
export async function resendSetAside(
  { db, clickhouse, config_id, team_id, tool, log }: Resending,
  event_uuid: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  let [sent, left] = [0, 0];
  for (let id = '0'; ;) {
    const rows = await listSetAside(db, config_id, { id, event_uuid });
    if (rows.length === 0) break;
    for (const row of rows) {
      signal.throwIfAborted();
      id = row.id;
      const mapping = tool.mappings.find((one) => mappingName(one) === row.mapping);
      const event = await readEvent(clickhouse, team_id, row.event_uuid, signal);
      if (event === undefined || mapping === undefined) {
        // An erased event is sent to nobody; a mapping that is gone wants it no more.
        await removeSetAside(db, row.id);
        continue;
      }
      const outcome = await tool.send(event, mapping, signal);
      if (!('reason' in outcome)) {
        if (outcome.kind === 'sent') tool.count('delivered');
        sent += 1;
        await removeSetAside(db, row.id);
        continue;
      }
      if (outcome.kind === 'denied') throw new HoldError(outcome.reason);
      if (outcome.kind === 'retry') throw new ToolRetryError(outcome.reason, undefined);
      left += 1;
      const { status } = outcome;
      const reason = log.mask(outcome.reason);
      await setAside(db, config_id, { event, mapping: row.mapping, status, reason });
    }
  }
  log.write('INFO', `Sent ${counted(sent, 'event')} again; the tool refused ${left} once more.`);
}
