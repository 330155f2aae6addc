import { Buffer } from './bytes.ts';
import { request } from './requests.ts';

/** What a plugin is set up with, as it comes over the border; `contents` is base64. */
export type Setup = {
  config: Record<string, unknown>;
  attachments: Record<string, { content_type: string; file_name: string; contents: string }>;
  is_inspection: boolean;
};

type Unit = 'millisecond' | 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
type Job = {
  runNow(): Promise<unknown>;
  runIn(amount: number, unit: Unit | `${Unit}s`): Promise<unknown>;
  runAt(instant: Date): Promise<unknown>;
};

const minute = 60_000;
const day = 24 * 60 * minute;
const unit_milliseconds: Record<Unit, number> = {
  millisecond: 1,
  second: 1_000,
  minute,
  hour: 60 * minute,
  day,
  week: 7 * day,
  month: 30 * day,
  year: 365 * day,
};

const storage = {
  get: async (key: string, fallback?: unknown) =>
    (await request('storage.get', [key])) ?? fallback ?? null,
  set: (key: string, value: unknown) =>
    value === undefined ? storage.del(key) : request('storage.set', [key, value]),
  del: (key: string) => request('storage.del', [key]),
};

const cache = {
  get: async (key: string, fallback?: unknown) =>
    (await request('cache.get', [key])) ?? fallback ?? null,
  set: (key: string, value: unknown, seconds?: number) =>
    request('cache.set', [key, value ?? null, seconds ?? null]),
  incr: (key: string) => request('cache.incr', [key, 1]),
  expire: (key: string, seconds: number) => request('cache.expire', [key, seconds]),
  lpush: (key: string, values: unknown) =>
    request('cache.lpush', [key, Array.isArray(values) ? values : [values]]),
  lrange: (key: string, first: number, last: number) => request('cache.lrange', [key, first, last]),
  llen: (key: string) => request('cache.llen', [key]),
  lrem: (key: string, count: number, value: unknown) => request('cache.lrem', [key, count, value]),
  lpop: (key: string, count = 1) => request('cache.lpop', [key, count]),
};

const cursor = {
  init: (key: string, value = 0) => request('cache.set', [key, value, null]),
  increment: (key: string, by = 1) => request('cache.incr', [key, by]),
};

/** The last argument of every method of a plugin; the same object from load to close, so what a plugin keeps in `global` is there in the next call. */
export function makeMeta(setup: Setup, jobNames: string[]): Record<string, unknown> {
  const attachments = Object.entries(setup.attachments).map(([key, { contents, ...rest }]) => [
    key,
    { ...rest, contents: Buffer.from(contents, 'base64') },
  ]);
  return {
    config: setup.config,
    attachments: Object.fromEntries(attachments) as Record<string, unknown>,
    storage,
    cache,
    global: {},
    jobs: Object.fromEntries(
      jobNames.map((name) => [name, (payload?: unknown) => makeJob(name, payload)]),
    ),
    utils: { cursor },
  };
}

function makeJob(name: string, payload: unknown): Job {
  const run = (when: { delay_milliseconds: number } | { at: string }) =>
    request('run_job', [name, payload ?? null, when]);
  return {
    runNow: () => run({ delay_milliseconds: 0 }),
    runIn: async (amount, unit) => {
      const milliseconds = unit_milliseconds[unit.replace(/s$/, '') as Unit];
      if (milliseconds === undefined)
        throw new RangeError(
          `runIn knows no unit ${unit}: use milliseconds, seconds, minutes, hours, days, weeks, months or years.`,
        );
      return run({ delay_milliseconds: amount * milliseconds });
    },
    runAt: async (instant) => run({ at: instant.toISOString() }),
  };
}

/** Adds an event to the project; `distinct_id` and `timestamp` may stand among the properties. */
export function capture(event: string, properties: Record<string, unknown> = {}): Promise<unknown> {
  const { distinct_id, timestamp, ...rest } = properties;
  const text = (value: unknown) => (value instanceof Date ? value.toISOString() : (value ?? null));
  return request('capture', [
    { event, distinct_id: text(distinct_id), timestamp: text(timestamp), properties: rest },
  ]);
}
