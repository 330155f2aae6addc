/** The pace of one account at a tool: the rate of requests that it takes. Learnt, never set. */
export type Pace = {
  /** Requests a second; null: no limit is known. */
  readonly rate: number | null;
  /** Milliseconds until the next request may begin. */
  waitMs(): number;
  /** Notes that a request begins; its time goes to what becomes of it. */
  begin(): number;
  /** Notes an answer other than 429. */
  taken(begun_at: number): void;
  /** Notes a 429; `seconds` is what the tool asks to wait. */
  limited(begun_at: number, seconds: number | undefined): void;
};

/** Time over which the pace is measured. Limits are counted by the second, minute, hour or day. */
const window_ms = 60_000;
/** After such a gap a measure restarts: idle time says nothing about a limit. */
const gap_ms = 5_000;
/** A late timer may be made up for by so much. */
const late_ms_max = 250;
/** After a limit was met, the pace is a little less than what passed. */
const reserve = 0.98;
const growth_ms = 60_000;
const growth_first = 0.02;
const rate_min = 1 / 3_600;
/** Nobody waits for limits above this. */
const rate_max = 2_000;
const pause_seconds_max = 300;

/**
 * Opens the pace with a rate that was learnt before; `now` is in milliseconds. After a 429 nothing
 * is sent until the tool allows it. Then the rate is what had passed over the time that it took,
 * the wait included. It grows while it is used up: by 2 % in the first minute, 4 % in the second,
 * and so on until the next 429.
 */
export function openPace(learnt: number | null, now: () => number): Pace {
  let rate = learnt;
  let next_at = 0;
  let paused_until = 0;
  let limited_at: number | undefined;
  let streak = 0;
  let growth = { at: now(), by: growth_first, begun: 0 };
  let busy_since = now();
  let last_at = -Infinity;
  const passed = openPassed();
  const learn = (limit_at: number): void => {
    const since = Math.max(busy_since, limit_at - window_ms);
    const measured = passed.since(since) / (Math.max(now() - since, 1) / 1_000);
    rate = Math.max(measured * reserve, rate_min);
    growth = { at: now(), by: growth_first, begun: 0 };
    [busy_since, limited_at, streak, next_at] = [now(), undefined, 0, 0];
    passed.clear();
  };
  const grow = (): void => {
    if (rate === null || now() - growth.at < growth_ms) return;
    const isUsed = growth.begun >= 0.8 * rate * (growth_ms / 1_000);
    if (isUsed) rate *= 1 + growth.by;
    growth = { at: now(), by: isUsed ? Math.min(growth.by * 2, 1) : growth.by, begun: 0 };
    if (rate > rate_max) rate = null;
  };
  return {
    get rate() {
      return rate;
    },
    waitMs: () => Math.max(Math.max(paused_until, next_at) - now(), 0),
    begin: () => {
      const at = now();
      grow();
      if (at - last_at > gap_ms && limited_at === undefined) busy_since = at;
      last_at = at;
      growth.begun += 1;
      if (rate !== null) next_at = Math.max(next_at, at - late_ms_max) + 1_000 / rate;
      return at;
    },
    taken: (begun_at) => {
      if (limited_at !== undefined && begun_at > limited_at) learn(limited_at);
      passed.add(now());
    },
    limited: (begun_at, seconds) => {
      limited_at ??= now();
      // Several that were in progress together met the limit once.
      if (begun_at >= paused_until) streak += 1;
      const pause = seconds ?? Math.min(2 ** (streak - 1), pause_seconds_max);
      paused_until = Math.max(paused_until, now() + pause * 1_000);
    },
  };
}

/** Counts requests that passed, by the second. */
function openPassed() {
  const passed = new Map<number, number>();
  return {
    add: (at: number): void => {
      const second = Math.floor(at / 1_000);
      passed.set(second, (passed.get(second) ?? 0) + 1);
    },
    /** The number since then; earlier ones are forgotten. */
    since: (since: number): number => {
      let sum = 0;
      for (const [second, count] of passed)
        if (second * 1_000 < since - 1_000) passed.delete(second);
        else sum += count;
      return sum;
    },
    clear: () => passed.clear(),
  };
}
