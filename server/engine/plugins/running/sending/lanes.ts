import type { PluginEvent } from '../read_events.ts';
import type { Waiting } from './waiting.ts';

/** An event to be sent by one mapping. */
export type Item = {
  event: PluginEvent;
  /** Its row, if it waits already. */
  row: Waiting | undefined;
  /** Tries that failed. */
  tries: number;
  /** The largest batch in which it goes: smaller after each failure, so that a bad one is found. */
  together_max: number;
  /** Answers of 429 in this turn. */
  limited: number;
  /** It may have arrived before: the answer was lost. */
  is_again: boolean;
};

/** Events of one person that one mapping still has to send, in their order. */
export type Lane = { mapping: string; items: [Item, ...Item[]] };

/** Lanes that are ready; one that was taken comes back, or is over for this turn. */
export type Lanes = {
  /** The lanes whose first events go out next, together; undefined: none is ready. */
  take(): Lane[] | undefined;
  /** Takes a lane back: at the front, where its first event is the same. */
  back(lane: Lane, where: 'front' | 'end'): void;
  isEmpty(): boolean;
};

/** Opens the lanes; mappings have their turns one after the other. */
export function openLanes(lanes: Lane[]): Lanes {
  const queues = [...Map.groupBy(lanes, ({ mapping }) => mapping).values()];
  const byMapping = new Map(queues.map((queue) => [queue[0]!.mapping, queue]));
  let turn = 0;
  return {
    take: () => {
      for (let step = 0; step < queues.length; step += 1) {
        const queue = queues[(turn + step) % queues.length]!;
        const first = queue.shift();
        if (first === undefined) continue;
        turn = (turn + step + 1) % queues.length;
        const taken = [first];
        const fits = (lane: Lane) => lane.items[0].together_max > taken.length;
        while (queue[0] !== undefined && fits(first) && fits(queue[0])) taken.push(queue.shift()!);
        return taken;
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
