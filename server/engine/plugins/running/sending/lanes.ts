import type { PluginEvent } from '../read_events.ts';
import type { Waiting } from './waiting.ts';

/** An event to send by one mapping. */
export type Item = {
  event: PluginEvent;
  /** Its row, if it is already waiting. */
  row: Waiting | undefined;
  /** Its position in the turn. */
  order: number;
  /** Failed tries. */
  tries: number;
  /** The largest batch for it: smaller after each failure, to isolate an invalid event. */
  together_max: number;
  /** Answers of 429 in this turn. */
  limited: number;
  /** True if it may have arrived before: the answer was lost. */
  is_again: boolean;
  /** True if a replay sends it. */
  is_replay: boolean;
};

/** Events of one person that one mapping still has to send, in order. */
export type Lane = { mapping: string; items: [Item, ...Item[]] };

/** An event to send now, with its lane. */
export type Taken = { lane: Lane; item: Item };

/** Ready lanes; a taken lane comes back, or has ended for this turn. */
export type Lanes = {
  /**
   * Takes the events of the next request; undefined: none is ready. Takes one of each lane, or the
   * next ones of all lanes for a mapping with ordered batches.
   */
  take(): Taken[] | undefined;
  /** Returns a lane: to the front if its first event is the same. */
  back(lane: Lane, where: 'front' | 'end'): void;
  isEmpty(): boolean;
};

/** Opens the lanes; mappings take turns. `in_order`: the mappings with ordered batches. */
export function openLanes(lanes: Lane[], in_order: ReadonlySet<string> = new Set()): Lanes {
  const queues = [...Map.groupBy(lanes, ({ mapping }) => mapping).values()];
  const byMapping = new Map(queues.map((queue) => [queue[0]!.mapping, queue]));
  let turn = 0;
  return {
    take: () => {
      for (let step = 0; step < queues.length; step += 1) {
        const queue = queues[(turn + step) % queues.length]!;
        if (queue[0] === undefined) continue;
        turn = (turn + step + 1) % queues.length;
        return in_order.has(queue[0].mapping) ? takeInOrder(queue) : takeFirsts(queue);
      }
      return undefined;
    },
    back: (lane, where) => {
      const queue = byMapping.get(lane.mapping)!;
      if (where === 'front') queue.unshift(lane);
      else queue.push(lane);
    },
    isEmpty: () => queues.every(({ length }) => length === 0),
  };
}

/** Takes the first event of each lane. */
function takeFirsts(queue: Lane[]): Taken[] {
  const taken: Taken[] = [];
  const fits = ({ items: [item] }: Lane) => item.together_max > taken.length;
  while (queue[0] !== undefined && (taken.length === 0 || (fits(taken[0]!.lane) && fits(queue[0]))))
    taken.push(takenOf(queue.shift()!));
  return taken;
}

function takenOf(lane: Lane): Taken {
  return { lane, item: lane.items[0] };
}

/** Takes the next events of all lanes, in the order of the turn: the beginning of each lane. */
function takeInOrder(queue: Lane[]): Taken[] {
  const all = queue
    .flatMap((lane) => lane.items.map((item) => ({ lane, item })))
    .toSorted((one, other) => one.item.order - other.item.order);
  const end = all.findIndex(({ item }, at) => at > 0 && item.together_max <= at);
  const within = Math.min(all[0]!.item.together_max, end === -1 ? all.length : end);
  const taken = all.slice(0, Math.max(within, 1));
  const lanes = new Set(taken.map(({ lane }) => lane));
  queue.splice(0, queue.length, ...queue.filter((lane) => !lanes.has(lane)));
  return taken;
}
