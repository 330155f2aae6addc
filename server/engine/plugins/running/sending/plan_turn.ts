import { mappingName } from '../../tools/mappings.ts';
import type { ToolMapping } from '../../tools/tool.ts';
import type { LoadedTool } from '../loaded_tool.ts';
import type { PluginEvent } from '../read_events.ts';
import type { Item, Lane } from './lanes.ts';
import { lineOf, ofEvent, personsOf } from './waiting_room.ts';
import type { Waiting } from './waiting.ts';

/** A turn of a tool: the new events, the due waiting ones, and the failures in a row so far. */
export type TurnWork = {
  events: PluginEvent[];
  /** The events of due rows, by uuid. */
  waiting: Map<string, PluginEvent>;
  due: Waiting[][];
  failures: number;
  /** Returns the mappings for a new event; all of them if absent. */
  mappingsOf?: (event: PluginEvent) => ToolMapping[];
};

const due_lines_max = 200;
const due_rows_max = 400;
const per_line_max = 20;

/** Returns the lines whose first event is due, the longest due first, each cut to one turn. */
export function dueLines(tool: LoadedTool): Waiting[][] {
  const lines = tool.room.lines(personsOf([]));
  const now = performance.now();
  const dueAt = ([first]: Waiting[]) => first!.due_at ?? now;
  const due = [...lines.values()]
    .filter((line) => dueAt(line) <= now)
    .toSorted((one, other) => dueAt(one) - dueAt(other))
    .slice(0, due_lines_max);
  const each = Math.max(Math.floor(due_rows_max / Math.max(due.length, 1)), 1);
  return due.map((line) => line.slice(0, Math.min(each, per_line_max)));
}

/**
 * Plans a turn. New events of waiting persons go to the end of their lines, while there is room. A
 * row whose event is no longer stored was erased, so the row is deleted.
 */
export function planTurn(tool: LoadedTool, work: TurnWork): Lane[] {
  const { events, failures, mappingsOf = () => tool.mappings } = work;
  tool.recall(events);
  const persons = personsOf(events);
  const lines = tool.room.lines(persons);
  const fresh = new Map<string, Lane>();
  const due = dueLanes(tool, work);
  let order = due.reduce((sum, { items }) => sum + items.length, 0);
  for (const event of events)
    for (const mapping of mappingsOf(event)) {
      const name = mappingName(mapping);
      if (tool.isDone(event, name)) continue;
      if (!tool.wants(event, mapping)) {
        tool.setDone(event, name, 'not sent');
        continue;
      }
      const line = lineOf(name, persons, ofEvent(event));
      if (lines.has(line)) parkBehind(tool, event, name);
      else addTo(fresh, line, name, newItem(tool, event, name, { failures, order: order++ }));
    }
  return turned([...due, ...fresh.values()], failures);
}

/**
 * A person whose event failed first does not come first again: a few invalid events are no outage.
 */
function turned(lanes: Lane[], failures: number): Lane[] {
  const first = lanes.length === 0 ? 0 : (failures * misses_max) % lanes.length;
  return [...lanes.slice(first), ...lanes.slice(0, first)];
}

/** Failed requests in a row, each of different persons, that count as an outage. */
export const misses_max = 3;

function addTo(lanes: Map<string, Lane>, line: string, mapping: string, item: Item): void {
  const lane = lanes.get(line);
  if (lane === undefined) lanes.set(line, { mapping, items: [item] });
  else lane.items.push(item);
}

function newItem(
  tool: LoadedTool,
  event: PluginEvent,
  name: string,
  { failures, order }: { failures: number; order: number },
): Item {
  const together_max = togetherMax(tool, name, failures);
  const is_again = tool.mayHaveBeenSent(event, name);
  const { is_replay } = tool;
  return { event, row: undefined, order, tries: 0, together_max, limited: 0, is_again, is_replay };
}

/** Returns the largest batch after this many failures: a quarter with each. */
function togetherMax(tool: LoadedTool, name: string, failures: number): number {
  const { size, whole_tries } = tool.batching.get(name) ?? { size: 1, whole_tries: 0 };
  const quarters = Math.min(Math.max(failures - whole_tries, 0), 5);
  return Math.max(Math.ceil(size / 4 ** quarters), 1);
}

function dueLanes(tool: LoadedTool, { due, waiting }: TurnWork): Lane[] {
  let order = 0;
  return due.flatMap((line): Lane[] => {
    const items = line.flatMap((row): Item[] => {
      const event = waiting.get(row.event_uuid);
      const { mapping, tries, is_lost: is_again, is_replay } = row;
      const isWanted = tool.mappings.some((one) => mappingName(one) === mapping);
      if (event === undefined || !isWanted) {
        tool.room.remove(row);
        return [];
      }
      const together_max = togetherMax(tool, mapping, tries);
      const sent = { together_max, limited: 0, is_again, is_replay };
      return [{ event, row, order: order++, tries, ...sent }];
    });
    const [first, ...rest] = items;
    return first === undefined ? [] : [{ mapping: line[0]!.mapping, items: [first, ...rest] }];
  });
}

/** Queues an event behind the earlier ones of its person, if there is room. */
export function parkBehind(tool: LoadedTool, event: PluginEvent, mapping: string): boolean {
  const isKept = tool.room.has({ mapping, event_uuid: event.uuid });
  if (!isKept && tool.room.room <= 0) return false;
  if (!isKept) tool.room.keep(waitingOf(tool, event, mapping));
  tool.setDone(event, mapping, 'not sent');
  return true;
}

/** Returns the row for an event that waits for an earlier one. */
export function waitingOf(tool: LoadedTool, event: PluginEvent, mapping: string): Waiting {
  return {
    ...ofEvent(event),
    mapping,
    event_uuid: event.uuid,
    inserted_at: event.inserted_at,
    tries: 0,
    tried_at: null,
    due_at: null,
    is_lost: tool.mayHaveBeenSent(event, mapping),
    is_replay: tool.is_replay,
    reason: '',
  };
}
