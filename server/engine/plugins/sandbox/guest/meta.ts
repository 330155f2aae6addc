import { Buffer } from './bytes.ts';
import { createMetrics } from './metrics.ts';
import type { Operation } from './metrics.ts';
import { request } from './requests.ts';

/** The setup of a plugin as it crosses the border; `contents` is base64. */
export type Setup = {
  config: Record<string, unknown>;
  attachments: Record<string, { content_type: string; file_name: string; contents: string }>;
  is_inspection: boolean;
  /** URL of the platform's own API. */
  public_url: string;
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

type Key = string | number | bigint;

/**
 * Plugins pass ids in any form: a number stands for its text, as in Redis. The server refuses other
 * values.
 */
function asText(value: unknown): unknown {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value))
    ? String(value)
    : value;
}

const ask = (name: string, key: Key, ...others: unknown[]): Promise<unknown> =>
  request(name, [asText(key), ...others]);

const storage = {
  get: async (key: Key, fallback?: unknown) => (await ask('storage.get', key)) ?? fallback ?? null,
  set: (key: Key, value: unknown) =>
    value === undefined ? storage.del(key) : ask('storage.set', key, value),
  del: (key: Key) => ask('storage.del', key),
};

const cache = {
  get: async (key: Key, fallback?: unknown) => (await ask('cache.get', key)) ?? fallback ?? null,
  set: (key: Key, value: unknown, seconds?: number) =>
    ask('cache.set', key, value ?? null, seconds ?? null),
  incr: (key: Key) => ask('cache.incr', key, 1),
  expire: (key: Key, seconds: number) => ask('cache.expire', key, seconds),
  lpush: (key: Key, values: unknown) =>
    ask('cache.lpush', key, Array.isArray(values) ? values : [values]),
  lrange: (key: Key, first: number, last: number) => ask('cache.lrange', key, first, last),
  llen: (key: Key) => ask('cache.llen', key),
  lrem: (key: Key, count: number, value: unknown) => ask('cache.lrem', key, count, value),
  lpop: (key: Key, count = 1) => ask('cache.lpop', key, count),
};

const cursor = {
  init: (key: Key, value = 0) => ask('cache.set', key, value, null),
  increment: (key: Key, by = 1) => ask('cache.incr', key, by),
};

/**
 * Creates the last argument of every method of a plugin. It is the same object from load to close,
 * so values that a plugin stores in `global` are there in the next call.
 */
export function createMeta(
  setup: Setup,
  jobNames: string[],
  operations: Record<string, Operation>,
): Record<string, unknown> {
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
      jobNames.map((name) => [name, (payload?: unknown) => createJob(name, payload)]),
    ),
    metrics: createMetrics(operations),
    utils: { cursor },
  };
}

function createJob(name: string, payload: unknown): Job {
  const run = (when: { delay_milliseconds: number } | { at: string }) =>
    request('run_job', [name, payload ?? null, when]);
  return {
    runNow: () => run({ delay_milliseconds: 0 }),
    runIn: async (amount, unit) => {
      const milliseconds = unit_milliseconds[unit.replace(/s$/, '') as Unit];
      if (milliseconds === undefined)
        throw new RangeError(
          `runIn knows no unit ${unit}: use milliseconds, seconds, minutes, hours, days, ` +
            'weeks, months or years.',
        );
      return run({ delay_milliseconds: amount * milliseconds });
    },
    runAt: async (instant) => run({ at: instant.toISOString() }),
  };
}

const day_alone = /^\d{4}-\d{2}-\d{2}$/;
const without_zone = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?$/;

/**
 * Adds an event to the project; the properties may contain `distinct_id` and `timestamp`. A
 * timestamp without a zone is UTC.
 */
export function capture(event: string, properties: Record<string, unknown> = {}): Promise<unknown> {
  const { distinct_id, timestamp, ...rest } = properties;
  return request('capture', [
    {
      event,
      distinct_id: asText(distinct_id) ?? null,
      timestamp: instantOf(timestamp),
      properties: rest,
    },
  ]);
}

function instantOf(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'string') return value ?? null;
  const text = value.trim();
  if (day_alone.test(text)) return `${text}T00:00:00Z`;
  return without_zone.test(text) ? `${text}Z` : text;
}
