import sql from 'sql-template-tag';
import type { Engine } from '../../../engine/exports/engine.ts';
import { listSends } from '../../../engine/plugins/trace/read_trace.ts';
import type { FoundSend } from '../../../engine/plugins/trace/read_trace.ts';
import type { FoundTool } from './schema.ts';
import { tools_max } from './schema.ts';
import type { StoredRecord } from './store.ts';

type Tool = {
  id: number;
  name: string;
  enabled: boolean;
  /** All events stored before this time were processed, in microseconds. */
  done_us: number | null;
};

/**
 * Returns the attempts for each event, by uuid and by each tool that was ever enabled in the
 * project, or the reason for having none.
 */
export async function findTools(
  { db, clickhouse }: Pick<Engine, 'db' | 'clickhouse'>,
  team_id: number,
  records: StoredRecord[],
): Promise<Map<string, FoundTool[]>> {
  const events = records.flatMap(({ model, uuid, inserted_us }) =>
    model === 'events' && uuid !== null ? [{ uuid, inserted_us }] : [],
  );
  if (events.length === 0) return new Map();
  const tools = await listTools(db, team_id);
  if (tools.length === 0) return new Map(events.map(({ uuid }) => [uuid, []]));
  const sends = await listSends(clickhouse, team_id, events);
  const asides = await listAsides(db, team_id, events);
  return new Map(
    events.map(({ uuid, inserted_us }) => [
      uuid,
      tools.map((tool) =>
        foundOf(
          tool,
          inserted_us,
          sends.filter((one) => one.event_uuid === uuid && one.plugin_config_id === tool.id),
          asides.has(`${tool.id} ${uuid}`),
        ),
      ),
    ]),
  );
}

function foundOf(tool: Tool, inserted_us: number, own: FoundSend[], is_aside: boolean): FoundTool {
  const latest = own.at(-1);
  const sends = own.map(({ mapping, outcome, status, reason, at, is_replay }) => ({
    mapping,
    outcome,
    status,
    reason,
    at,
    is_replay,
  }));
  return { plugin_config: tool.id, name: tool.name, ...stateOf(), sends };

  function stateOf(): Pick<FoundTool, 'state' | 'detail'> {
    if (is_aside)
      return { state: 'set_aside', detail: `Set aside: ${latest?.reason ?? 'it was refused.'}` };
    if (latest?.outcome === 'sent') return { state: 'sent', detail: `Sent at ${latest.at}.` };
    if (latest?.outcome === 'set_aside')
      return { state: 'discarded', detail: 'It was set aside, and then discarded.' };
    const isBehind = tool.done_us === null || inserted_us >= tool.done_us;
    if (latest !== undefined || (isBehind && tool.enabled))
      return { state: 'waiting', detail: latest?.reason ?? 'It has not been processed yet.' };
    return {
      state: 'not_sent',
      detail:
        'No mapping or filter matched it, or the destination was off when the event was ' +
        'stored.',
    };
  }
}

function listTools(db: Engine['db'], team_id: number): Promise<Tool[]> {
  return db.rows<Tool>(sql`
    SELECT c.id, coalesce(p.name, '') AS name, c.enabled,
      (extract(epoch FROM k.inserted_at) * 1000000)::float8 AS done_us
    FROM plugin_configs c JOIN plugins p ON p.id = c.plugin_id
      JOIN plugin_cursors k ON k.plugin_config_id = c.id
    WHERE c.team_id = ${team_id} AND p.collection = 'pipeline_destinations'
    ORDER BY c.id LIMIT ${tools_max}`);
}

async function listAsides(
  db: Engine['db'],
  team_id: number,
  events: { uuid: string }[],
): Promise<Set<string>> {
  const rows = await db.rows<{ key: string }>(sql`
    SELECT s.plugin_config_id || ' ' || s.event_uuid AS key FROM plugin_set_aside s
      JOIN plugin_configs c ON c.id = s.plugin_config_id
    WHERE c.team_id = ${team_id}
      AND s.event_uuid = ANY (${events.map(({ uuid }) => uuid)}::uuid[])`);
  return new Set(rows.map(({ key }) => key));
}
