import sql from 'sql-template-tag';
import type { Clock } from '../../clock.ts';
import { isoInstant } from '../../clock.ts';
import type { Database } from '../../postgres/database.ts';
import { addressOf } from './address.ts';
import { resetSeconds, roll, used, waitSeconds, windowIndex } from './rate_window.ts';
import type { Counter, Policy } from './rate_window.ts';

/**
 * The remaining budget of a caller: header values (IETF draft `RateLimit` fields) and, if the
 * request is refused, the seconds to wait.
 */
export type Budget = { policy: string; remaining: string; wait_seconds: number | undefined };

/**
 * Counts requests per subject in sliding windows that all API processes share, with a delay of
 * about a second.
 */
export type Limiter = {
  /**
   * Counts a request of a key, and of its person if there is one, and returns the rest of the
   * tighter limit in each window; undefined if limits are off. A refused request is not counted.
   */
  take(subject: string, person?: string): Budget | undefined;
  /** Takes one counted request back: a 304 is free. */
  refund(subject: string, person?: string): void;
  /**
   * Counts a refused authentication from this address; returns the seconds to wait after too many.
   */
  takeRefused(ip: string): number | undefined;
  /**
   * Sends new counts to the store and reads those of other processes. Called once a second, and by
   * tests.
   */
  synchronise(): Promise<void>;
};

type Pending = { subject: string; window_seconds: number; index: number; requests: number };
type Synchronised = {
  subject: string;
  window_seconds: number;
  window_start: string;
  requests: number;
  previous: number;
};

/** Refused authentications per address and minute, as a multiple of the limit per key. */
const refused_factor = 4;

/**
 * Creates the limiter of one process. A limit of 0 is off; a person has `person_factor` times the
 * limit of a key, and no own limit without it.
 */
export function openLimiter(
  db: Database,
  clock: Clock,
  limits: { per_minute: number; per_hour: number; person_factor?: number },
): Limiter {
  const policies = [
    { name: 'minute', requests_max: limits.per_minute, window_seconds: 60 },
    { name: 'hour', requests_max: limits.per_hour, window_seconds: 3600 },
  ].filter((policy) => policy.requests_max > 0);
  const times = (factor: number) =>
    policies.map((policy) => ({ ...policy, requests_max: policy.requests_max * factor }));
  const refused = times(refused_factor).filter((policy) => policy.name === 'minute');
  const { person_factor = 0 } = limits;
  const of_person = times(person_factor);
  const counts = openCounts(db, clock);
  const countedFor = (subject: string, person: string | undefined): Counted[] => [
    { subject, policies },
    ...(person === undefined || person_factor === 0
      ? []
      : [{ subject: person, policies: of_person }]),
  ];
  return {
    take(subject, person) {
      if (policies.length === 0) return undefined;
      const now = clock.now();
      const counted = countedFor(subject, person);
      const wait_seconds = counts.take(counted, now);
      const tightest = policies.map((_policy, at) =>
        counted
          .map((one) => counts.leftOf(one.subject, one.policies[at]!, now))
          .reduce((known, other) => (isTighter(other, known) ? other : known)),
      );
      return {
        policy: tightest
          .map(
            ({ policy }) => `"${policy.name}";q=${policy.requests_max};w=${policy.window_seconds}`,
          )
          .join(', '),
        remaining: tightest
          .map(({ policy, left, seconds }) => `"${policy.name}";r=${left};t=${seconds}`)
          .join(', '),
        wait_seconds,
      };
    },
    refund: (subject, person) => counts.add(countedFor(subject, person), clock.now(), -1),
    takeRefused: (ip) =>
      counts.take([{ subject: `address:${addressOf(ip)}`, policies: refused }], clock.now()),
    synchronise: () => counts.synchronise(),
  };
}

/** A subject and its limits. */
type Counted = { subject: string; policies: Policy[] };
/** The remaining requests of a subject under a policy, and the seconds for which that is valid. */
type Left = { policy: Policy; left: number; seconds: number };

function isTighter(one: Left, other: Left): boolean {
  return (
    one.left < other.left || (one.left === 0 && other.left === 0 && one.seconds > other.seconds)
  );
}

function openCounts(db: Database, clock: Clock) {
  const counters = new Map<string, Counter>();
  const pending = openPending();

  function counterOf(subject: string, window_seconds: number, now: number): Counter {
    const key = `${window_seconds} ${subject}`;
    const index = windowIndex(now, window_seconds);
    let counter = counters.get(key);
    if (counter === undefined) counters.set(key, (counter = { index, previous: 0, current: 0 }));
    roll(counter, index);
    return counter;
  }
  function add(counted: Counted[], now: number, requests: number): void {
    for (const { subject, policies } of counted)
      for (const { window_seconds } of policies) {
        const counter = counterOf(subject, window_seconds, now);
        counter.current = Math.max(0, counter.current + requests);
        pending.add({ subject, window_seconds, index: counter.index, requests });
      }
  }
  function take(counted: Counted[], now: number): number | undefined {
    let wait: number | undefined;
    for (const { subject, policies } of counted)
      for (const policy of policies) {
        const counter = counterOf(subject, policy.window_seconds, now);
        if (used(counter, policy, now) + 1 > policy.requests_max)
          wait = Math.max(wait ?? 0, waitSeconds(counter, policy, now));
      }
    if (wait === undefined) add(counted, now, 1);
    return wait;
  }
  function leftOf(subject: string, policy: Policy, now: number): Left {
    const counter = counterOf(subject, policy.window_seconds, now);
    const left = Math.max(0, Math.floor(policy.requests_max - used(counter, policy, now)));
    // At zero it is the time until one more request fits, like Retry-After.
    const seconds = left === 0 ? waitSeconds(counter, policy, now) : resetSeconds(policy, now);
    return { policy, left, seconds };
  }
  async function synchronise(): Promise<void> {
    const began = clock.now();
    for (const [key, counter] of counters)
      if (counter.index < windowIndex(began, Number.parseInt(key, 10)) - 1) counters.delete(key);
    const sent = pending.takeAll();
    if (sent.length === 0) return;
    const rows = await send(db, sent).catch((error: unknown) => {
      for (const entry of sent) pending.add(entry);
      throw error;
    });
    // The window may have changed meanwhile, and a counter must not return to the previous one.
    const now = clock.now();
    for (const row of rows) {
      const counter = counterOf(row.subject, row.window_seconds, now);
      const index = windowIndex(Date.parse(row.window_start), row.window_seconds);
      if (counter.index !== index) continue;
      counter.current = row.requests + pending.countOf(row, index);
      counter.previous = Math.max(counter.previous, row.previous);
    }
  }
  return { add, take, leftOf, synchronise };
}

/** Collects unsent counts, by subject and window. */
function openPending() {
  let entries = new Map<string, Pending>();
  const keyOf = (
    { window_seconds, subject }: Pick<Pending, 'window_seconds' | 'subject'>,
    index: number,
  ) => `${window_seconds} ${subject} ${index}`;
  return {
    add(counted: Pending): void {
      const key = keyOf(counted, counted.index);
      const entry = entries.get(key);
      if (entry === undefined) entries.set(key, counted);
      else entry.requests += counted.requests;
    },
    countOf: (of: Pick<Pending, 'window_seconds' | 'subject'>, index: number): number =>
      entries.get(keyOf(of, index))?.requests ?? 0,
    takeAll(): Pending[] {
      const all = [...entries.values()];
      entries = new Map();
      return all;
    },
  };
}

/**
 * Adds the counts in one statement. Every process locks rows in the same order, which avoids
 * deadlocks.
 */
async function send(db: Database, entries: Pending[]): Promise<Synchronised[]> {
  const starts = entries.map((entry) => isoInstant(entry.index * entry.window_seconds * 1000));
  return db.rows<Synchronised>(sql`
    WITH sent AS (
      INSERT INTO rate_counts (subject, window_seconds, window_start, requests)
      SELECT * FROM unnest(${entries.map((entry) => entry.subject)}::text[],
        ${entries.map((entry) => entry.window_seconds)}::integer[],
        ${starts}::timestamptz[],
        ${entries.map((entry) => entry.requests)}::integer[]) AS entry
      ORDER BY 1, 2, 3
      ON CONFLICT (subject, window_seconds, window_start) DO UPDATE
        SET requests = greatest(0, rate_counts.requests + EXCLUDED.requests)
      RETURNING subject, window_seconds, window_start, requests)
    SELECT sent.*, coalesce(previous.requests, 0) AS previous FROM sent
    LEFT JOIN rate_counts previous ON previous.subject = sent.subject
      AND previous.window_seconds = sent.window_seconds
      AND previous.window_start = sent.window_start - make_interval(secs => sent.window_seconds)`);
}
