/**
 * The pace of one account at a tool: the rate of requests that it accepts. It is learnt, never set.
 */
export type Pace = {
  /** Requests a second; null: no known limit. */
  readonly rate: number | null;
  /** Returns the milliseconds until the next request may begin. */
  waitMs(): number;
  /** Records the start of a request and returns its time. */
  begin(): number;
  /** Records an answer other than 429. */
  taken(begun_at: number): void;
  /** Records a 429; `seconds` is the requested pause. */
  limited(begun_at: number, seconds: number | undefined): void;
};

/** Time over which the rate is measured. Limits are counted by the second, minute, hour or day. */
const window_ms = 60_000;
/** After such a gap, the measurement restarts: idle time says nothing about a limit. */
const gap_ms = 5_000;
/** The most that a late timer may catch up. */
const late_ms_max = 250;
/** At a limit, the pace is set slightly below the measured rate. */
const reserve = 0.98;
const growth_ms = 60_000;
const growth_first = 0.02;
const rate_min = 1 / 3_600;
/** Limits above this never slow anything down. */
const rate_max = 2_000;
const pause_seconds_max = 300;

/**
 * Opens the pace with a learnt rate; `now` is in milliseconds. After a 429, nothing is sent until
 * the tool allows it. The rate then becomes the number of accepted requests over the elapsed time,
 * including the pause. While it is used up, it grows: by 2 % in the first minute, 4 % in the
 * second, and so on until the next 429.
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
      // Concurrent requests that meet the limit count once.
      if (begun_at >= paused_until) streak += 1;
      const pause = seconds ?? Math.min(2 ** (streak - 1), pause_seconds_max);
      paused_until = Math.max(paused_until, now() + pause * 1_000);
    },
  };
}

/** Counts accepted requests by the second. */
function openPassed() {
  const passed = new Map<number, number>();
  return {
    add: (at: number): void => {
      const second = Math.floor(at / 1_000);
      passed.set(second, (passed.get(second) ?? 0) + 1);
    },
    /** Returns the number since then and drops earlier ones. */
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
