import { retrySeconds } from '../failures.ts';
import { HoldError } from '../hold.ts';
import type { ToolOutcome } from '../../sandbox/tool_outcome.ts';
import type { Delivery } from '../delivery.ts';
import type { LoadedTool } from '../loaded_tool.ts';
import { ToolRetryError } from './tool_retry.ts';
import { recordAttempts } from './tool_attempts.ts';
import type { ToolAttempt } from './tool_attempts.ts';
import type { Item, Lane, Lanes, Taken } from './lanes.ts';
import { misses_max, parkBehind, waitingOf } from './plan_turn.ts';
import { isAnswer, isLost, retrySecondsOf } from './tool_answers.ts';
import type { Waiting } from './waiting.ts';

type Failed = Extract<ToolOutcome, { reason: string }>;

/** A mapping in a turn. */
type AtMapping = {
  /** Failed requests since the last successful one. */
  misses: number;
  works: boolean;
  /** The last failure. */
  last: Failed | undefined;
  /** New events that failed before it is known whether the tool works. */
  undecided: { lane: Lane; outcome: Failed }[];
};

/** A turn of a tool: it processes the outcomes, and decides the end of the turn. */
export type ToolTurn = {
  /** Processes the outcomes of a request. Events without an outcome were not sent, and go back. */
  take(taken: Taken[], outcomes: ToolOutcome[]): Promise<void>;
  /** Returns true if nothing further may be sent, because the tool fails. */
  isHalted(): boolean;
  /** Returns true once the tool has accepted something in this turn. */
  works(): boolean;
  /** Returns the failure that stops the cursor; undefined: none. */
  failure(): Error | undefined;
  /** Returns true if failed events wait for room. */
  isFull(): boolean;
};

/** Tries before an event is set aside, which take hours. It only delays its own person. */
const tries_max = 12;
/** Tries while there is no room, when it delays everybody. */
const tries_max_full = 5;
const limited_max = 3;

/**
 * Opens a turn. An event that fails while the tool accepts others waits, with the later ones of its
 * person. While the tool accepts nothing, the cause is unknown: nothing is decided, and three
 * failures in a row end the turn. `works`: it has just accepted others.
 */
export function openToolTurn(delivery: Delivery, lanes: Lanes, works = false): ToolTurn {
  const tool = delivery.plugin.tool!;
  const mappings = new Map<string, AtMapping>();
  const atOf = (mapping: string): AtMapping => {
    const at = mappings.get(mapping) ?? { misses: 0, works, last: undefined, undecided: [] };
    mappings.set(mapping, at);
    return at;
  };
  const settleLane = laneSettler(delivery, lanes, atOf);
  const settle = (at: AtMapping): void => {
    if (at.works) at.undecided = at.undecided.filter((one) => !park(delivery, one));
  };
  return {
    take: async (taken, outcomes) => {
      const { mapping } = taken[0]!.lane;
      const at = atOf(mapping);
      if (outcomes.some(isAnswer)) {
        [at.works, at.misses, tool.taken.at] = [true, 0, performance.now()];
      } else if (outcomes.some(isMiss)) at.misses += 1;
      const ends = new Map(
        outcomes.map((outcome, which) => {
          const { item } = taken[which]!;
          return [item, { outcome, end: endOf(tool, item, outcome) }];
        }),
      );
      const attempts = [...ends].map(([item, { outcome, end }]): ToolAttempt => {
        const { event, tries, is_again, is_replay } = item;
        const next = end === 'failed' || end === 'at once' ? 'again' : end;
        return { event, mapping, outcome, tries: tries + 1, next, is_again, is_replay };
      });
      await recordAttempts(delivery, attempts);
      for (const lane of new Set(taken.map((one) => one.lane))) settleLane(lane, ends);
      settle(at);
    },
    isHalted: () => [...mappings.values()].some(({ misses }) => misses >= misses_max),
    works: () => [...mappings.values()].some(({ works }) => works),
    failure: () => {
      // A mapping that works decides about later failures.
      for (const at of mappings.values()) settle(at);
      const isDown = ({ misses, works, undecided }: AtMapping) =>
        misses >= misses_max || (undecided.length > 0 && !works);
      const down = [...mappings.values()].findLast(isDown);
      return down?.last && laterError(down.last, delivery.running.clock.now());
    },
    isFull: () => [...mappings.values()].some(({ undecided }) => undecided.length > 0),
  };
}

/**
 * Returns a function that removes finished events from a lane, which goes back or waits behind a
 * failure.
 */
function laneSettler(
  delivery: Delivery,
  lanes: Lanes,
  atOf: (mapping: string) => AtMapping,
): (lane: Lane, ends: Map<Item, Ended>) => void {
  const tool = delivery.plugin.tool!;
  const failed = (lane: Lane, outcome: Failed, ends: Map<Item, Ended>): void => {
    const [item] = lane.items;
    const at = atOf(lane.mapping);
    at.last = outcome;
    if (item.row !== undefined) return tool.room.keep(tried(delivery, item, item.row, outcome));
    for (const one of lane.items) {
      const own = ends.get(one)?.outcome;
      if (own !== undefined && isLost(own)) tool.setLost(one.event, lane.mapping);
    }
    at.undecided.push({ lane, outcome });
  };
  return (lane, ends) => {
    const isOver = (item: Item) => ['done', 'set aside'].includes(ends.get(item)?.end ?? '');
    for (const { event, row } of lane.items.filter(isOver))
      if (row === undefined) tool.setDone(event, lane.mapping, 'sent');
      else tool.room.remove(row);
    const [first, ...rest] = lane.items.filter((item) => !isOver(item));
    if (first === undefined) return;
    const left: Lane = { ...lane, items: [first, ...rest] };
    const own = ends.get(first);
    if (own?.end === 'failed') failed(left, own.outcome as Failed, ends);
    else lanes.back(left, own === undefined && first !== lane.items[0] ? 'end' : 'front');
  };
}

/** The end of an event at a request; `at once`: it is sent again immediately. */
type End = 'done' | 'set aside' | 'failed' | 'at once';
type Ended = { outcome: ToolOutcome; end: End };

function endOf(tool: LoadedTool, item: Item, outcome: ToolOutcome): End {
  if (!('reason' in outcome)) return 'done';
  if (outcome.kind === 'refused') {
    const { together = 1 } = outcome;
    if (together === 1) return 'set aside';
    // One of them may be the cause: the others are sent without it.
    item.together_max = Math.ceil(together / 4);
    return 'at once';
  }
  if (outcome.status === 429) {
    // A wrong pace is no fault of the event.
    item.limited += 1;
    return item.limited < limited_max ? 'at once' : 'failed';
  }
  return isGivenUp(tool, item) ? 'set aside' : 'failed';
}

/** Returns true if the tool has accepted others since the last try, and the tries are used up. */
function isGivenUp({ room, taken }: LoadedTool, { row, tries }: Item): boolean {
  const isEnough = tries + 1 >= (room.room > 0 ? tries_max : tries_max_full);
  return row !== undefined && isEnough && (taken.at ?? 0) > (row.tried_at ?? 0);
}

function isMiss(outcome: ToolOutcome): boolean {
  return 'reason' in outcome && outcome.kind !== 'refused' && outcome.status !== 429;
}

/** Queues a failed event and the later ones of its person; false: there is no room. */
function park(delivery: Delivery, { lane, outcome }: AtMapping['undecided'][number]): boolean {
  const tool = delivery.plugin.tool!;
  const [first, ...rest] = lane.items;
  if (!parkBehind(tool, first.event, lane.mapping)) return false;
  tool.room.keep(tried(delivery, first, waitingOf(tool, first.event, lane.mapping), outcome));
  for (const { event } of rest) if (!parkBehind(tool, event, lane.mapping)) break;
  return true;
}

/** Returns the row after a failed try. */
function tried(
  { log, running: { retry_seconds, clock } }: Delivery,
  { tries, is_again }: Item,
  row: Waiting,
  outcome: Failed,
): Waiting {
  const tried_at = performance.now();
  // Events that failed together are not retried together.
  const spread = 0.8 + 0.4 * Math.random();
  const seconds =
    retrySecondsOf(outcome, clock.now()) ?? spread * retrySeconds(retry_seconds, tries + 1);
  return Object.assign(row, {
    tries: tries + 1,
    tried_at,
    due_at: tried_at + seconds * 1_000,
    is_lost: is_again || isLost(outcome),
    reason: log.mask(outcome.reason),
  });
}

/** Returns the error that makes the events wait. */
function laterError(outcome: Failed, now_ms: number): Error {
  const { kind, reason } = outcome;
  return kind === 'denied'
    ? new HoldError(
        `The tool does not accept the settings: ${reason} Check the keys in the settings. Until ` +
          'then events wait, and none is lost.',
      )
    : new ToolRetryError(reason, retrySecondsOf(outcome, now_ms));
}
