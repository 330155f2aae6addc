import { setTimeout as pause } from 'node:timers/promises';
import { mappingName } from '../../tools/mappings.ts';
import type { Delivery } from '../delivery.ts';
import { openLanes } from './lanes.ts';
import type { Lane, Lanes, Taken } from './lanes.ts';
import { openToolTurn } from './tool_turn.ts';
import type { ToolTurn } from './tool_turn.ts';

/** A longer wait for the pace ends the turn. */
const wait_ms_max = 2_000;

/** The events of a turn, live or of a replay, and the limits of the turn. */
type TurnRun = {
  planned: Lane[];
  /** Failures in a row so far. */
  failures: number;
  /** The turn starts nothing after this time. */
  turn_ms: number;
  /** True if the tool has just accepted others. */
  works?: boolean;
  isErased(): Promise<boolean>;
  /** Stores the progress meanwhile. */
  saveLater?(): Promise<void>;
};

/** The end of a turn; `error` is a fault of ours or a hold, `failure` one of the tool. */
type TurnResult = {
  error: Error | undefined;
  failure: Error | undefined;
  works: boolean;
  /** Number of requests. */
  count: number;
  /** The tool accepts more after this many seconds; undefined: now. */
  rest_seconds: number | undefined;
};

/**
 * Sends until nothing is left or the turn ends. Each mapping has its batches, and each event is
 * judged separately.
 */
export async function runTurn(delivery: Delivery, run: TurnRun): Promise<TurnResult> {
  const tool = delivery.plugin.tool!;
  const in_order = [...tool.batching].filter(([, { is_in_order }]) => is_in_order);
  const lanes = openLanes(run.planned, new Set(in_order.map(([name]) => name)));
  const turn = openToolTurn(delivery, lanes, run.works);
  const { error, count } = await sendAll(delivery, run, lanes, turn);
  const failure = turn.failure();
  const wait_ms = tool.pace.waitMs();
  const paced_seconds = wait_ms > wait_ms_max ? wait_ms / 1_000 : undefined;
  const rest_seconds = turn.isFull() ? delivery.running.retry_seconds : paced_seconds;
  return { error, failure, works: turn.works(), count, rest_seconds };
}

/** Sends, and returns the number of requests. */
async function sendAll(
  delivery: Delivery,
  { failures, turn_ms, isErased, saveLater }: TurnRun,
  lanes: Lanes,
  turn: ToolTurn,
): Promise<{ error: Error | undefined; count: number }> {
  const { plugin, signal, stopping } = delivery;
  const tool = plugin.tool!;
  const mappings = new Map(tool.mappings.map((mapping) => [mappingName(mapping), mapping]));
  const under_way = new Set<Promise<void>>();
  const until = performance.now() + turn_ms;
  let error: Error | undefined;
  let count = 0;
  const send = async (taken: Taken[]): Promise<void> => {
    const events = taken.map(({ item: { event } }) => event);
    try {
      const mapping = mappings.get(taken[0]!.lane.mapping)!;
      await turn.take(taken, await tool.sendAll(events, mapping, signal, isErased));
    } catch (thrown) {
      stop(thrown);
    }
  };
  // Answers to requests in progress are still processed.
  const stop = (thrown: unknown): true => {
    error ??= thrown as Error;
    return true;
  };
  // After a failure, one event must first show that the tool accepts events.
  const width = () => (failures > 0 && !turn.works() ? 1 : plugin.calls_max);
  for (;;) {
    const isOver =
      error !== undefined ||
      turn.isHalted() ||
      stopping.aborted ||
      performance.now() > until ||
      tool.pace.waitMs() > wait_ms_max ||
      (await isErased().catch(stop));
    while (!isOver && under_way.size < width() && tool.pace.waitMs() === 0) {
      const taken = lanes.take();
      if (taken === undefined) break;
      count += 1;
      const sent = send(taken).finally(() => under_way.delete(sent));
      under_way.add(sent);
    }
    if (under_way.size === 0 && (isOver || lanes.isEmpty())) break;
    const wait_ms = isOver || lanes.isEmpty() ? 0 : tool.pace.waitMs();
    // The pace may allow the next one by now. A race of nothing would never end.
    const isPaced = wait_ms > 0 || under_way.size === 0;
    const paced = isPaced ? [pause(Math.max(wait_ms, 1), undefined, { ref: false })] : [];
    await Promise.race([...under_way, ...paced]);
    signal.throwIfAborted();
    // Not awaited, so that nothing waits for the stores.
    void saveLater?.().catch(stop);
  }
  return { error, count };
}
