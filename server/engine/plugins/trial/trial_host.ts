import { PluginError } from '../plugin.ts';
import { firstOf, listOf, part, removeFrom } from '../running/cache_lists.ts';
import type { HostServices } from '../sandbox/host_services.ts';
import { cutText, keepFew } from './kept.ts';

/** A line that a plugin logged. */
export type TrialLine = { level: Parameters<HostServices['log']>[0]; message: string };

/** A service that a plugin requested and a trial does not perform; `value` is JSON text. */
export type TrialEffect = {
  kind: 'capture' | 'job' | 'metric' | 'storage';
  name: string;
  value: string | null;
};

/** The services of a trial, and the requests to them. */
export type TrialHost = {
  services: HostServices;
  logs: TrialLine[];
  effects: TrialEffect[];
  /** Requested hosts that the settings do not allow. */
  refused_hosts: Set<string>;
  /** Returns the number of lines and effects beyond the listed ones. */
  omitted(): number;
};

const size_characters_max = 10_000_000;

/**
 * Opens services that end with the trial: storage and cache are in memory and begin empty; events,
 * jobs and counts are recorded and go nowhere.
 */
export function openTrialHost(): TrialHost {
  const logs = keepFew<TrialLine>(200);
  const effects = keepFew<TrialEffect>(100);
  const refused_hosts = new Set<string>();
  const note = (kind: TrialEffect['kind'], name: string, value: unknown) =>
    effects.add({ kind, name, value: value === undefined ? null : cutText(JSON.stringify(value)) });
  const stored = openValues();
  return {
    logs: logs.kept,
    effects: effects.kept,
    refused_hosts,
    omitted: () => logs.omitted() + effects.omitted(),
    services: {
      storage: {
        get: async (key) => stored.get(key),
        set: async (key, value) => {
          stored.set(key, value);
          note('storage', key, value);
        },
        del: async (key) => {
          stored.delete(key);
          note('storage', key, undefined);
        },
      },
      cache: openCache(),
      capture: async ({ event, ...rest }) => note('capture', event, rest),
      runJob: async (name, payload, delay_ms) => note('job', name, { payload, delay_ms }),
      count: (values) =>
        Object.entries(values).forEach(([name, value]) => note('metric', name, value)),
      log: (level, message) => logs.add({ level, message }),
      refused: (hostname) => void refused_hosts.add(hostname),
      isNeeded: () => true,
    },
  };
}

/** JSON values by key, as texts. Throws a PluginError if they are too large together. */
function openValues() {
  const texts = new Map<string, string>();
  let characters = 0;
  const remove = (key: string) => {
    characters -= texts.get(key)?.length ?? 0;
    texts.delete(key);
  };
  return {
    get: (key: string): unknown => {
      const text = texts.get(key);
      return text === undefined ? undefined : (JSON.parse(text) as unknown);
    },
    set: (key: string, value: unknown) => {
      const text = JSON.stringify(value);
      remove(key);
      if (characters + text.length > size_characters_max)
        throw new PluginError('too_large', 'A trial keeps at most 10 million characters.');
      characters += text.length;
      texts.set(key, text);
    },
    delete: remove,
    has: (key: string) => texts.has(key),
  };
}

function openCache(): HostServices['cache'] {
  const values = openValues();
  const list = (key: string) => listOf(values.get(key));
  return {
    get: async (key) => values.get(key),
    set: async (key, value) => values.set(key, value),
    incr: async (key, by) => {
      const before = values.get(key) ?? 0;
      if (typeof before !== 'number')
        throw new PluginError('invalid', `The value of ${key} is not a number.`);
      values.set(key, before + by);
      return before + by;
    },
    expire: async (key) => values.has(key),
    lpush: async (key, items) => {
      const next = firstOf([...items.toReversed(), ...list(key)]);
      values.set(key, next);
      return next.length;
    },
    lrange: async (key, first, last) => part(list(key), first, last),
    llen: async (key) => list(key).length,
    lrem: async (key, count, value) => {
      const removed = removeFrom(list(key), count, value);
      values.set(key, removed.list);
      return removed.result;
    },
    lpop: async (key, count) => {
      const before = list(key);
      values.set(key, before.slice(Math.max(count, 0)));
      return before.slice(0, Math.max(count, 0));
    },
  };
}
