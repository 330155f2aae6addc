/** The state of an export that decides about its next look. */
export type Watched = {
  /** The start of the earliest interval that was delivered since the last look; null: none. */
  new_from: string | null;
  /** When the latest look ended, and the latest part of one at all deliveries. */
  verified_at: string | null;
  cycle_looked_at: string | null;
  cycle_ended_at: string | null;
  balance_ms: number;
  /** The way in which looks ask the destination; null: none has ended. */
  asks: 'seals' | 'contents' | null;
};

/** A look at all deliveries begins a day after the last one, if the budget allows it. */
const cycle_seconds = 86_400;
/**
 * Without a budget, because an export delivers next to nothing, new deliveries are looked at after
 * a week, and a part of all. It is no bound where a look has to read all contents.
 */
const starved_seconds = 7 * 86_400;

/**
 * The deliveries that an export wants looked at now. New ones and all take turns, so that neither
 * has the whole budget.
 */
export function wantedOf(due: Watched, now: number): 'new' | 'all' | undefined {
  const { new_from, cycle_ended_at, cycle_looked_at, balance_ms, verified_at, asks } = due;
  const isFree = (at: string | null) =>
    balance_ms >= 0 || (asks !== 'contents' && isOlder(at, starved_seconds, now));
  const has_new = new_from !== null;
  if (cycle_looked_at === null && verified_at === null) return has_new ? 'all' : undefined;
  const is_over = isOlder(cycle_ended_at, cycle_seconds, now) && isFree(cycle_looked_at);
  const is_turn = verified_at !== null && isBefore(cycle_looked_at, verified_at);
  if (is_over && (is_turn || !has_new)) return 'all';
  return has_new && isFree(verified_at ?? cycle_looked_at) ? 'new' : undefined;
}

const isBefore = (at: string | null, other: string) =>
  at === null || Date.parse(at) < Date.parse(other);

const isOlder = (at: string | null, seconds: number, now: number) =>
  at === null || Date.parse(at) <= now - seconds * 1_000;
