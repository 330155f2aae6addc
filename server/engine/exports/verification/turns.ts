/** The state of an export that decides its next look. */
export type Watched = {
  /** The start of the earliest interval delivered since the last look; null: none. */
  new_from: string | null;
  /** When the latest look ended, and the latest part of a look at all deliveries. */
  verified_at: string | null;
  cycle_looked_at: string | null;
  cycle_ended_at: string | null;
  balance_ms: number;
  /** The way in which looks read the destination; null: no look has ended. */
  asks: 'seals' | 'contents' | null;
};

/** A look at all deliveries begins a day after the last one, if the budget allows it. */
const cycle_seconds = 86_400;
/**
 * If the budget stays empty, because an export delivers almost nothing, new deliveries are checked
 * after a week, and a part of all. This does not apply if a look has to read all contents.
 */
const starved_seconds = 7 * 86_400;

/**
 * Returns the deliveries that an export wants checked now. New ones and all alternate, so that each
 * gets a share of the budget.
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
