import type { Operation } from './metrics.ts';

type Values = Record<string, unknown>;

/** The exports of a plugin, and their properties that need no call. */
export type Exported = {
  /**
   * Returns the exported function of that name; `jobs.x` is the job x. Undefined if it does not
   * exist.
   */
  find(name: string): ((...parameters: unknown[]) => unknown) | undefined;
  jobs: string[];
  inspection: {
    methods: string[];
    jobs: string[];
    scheduled_tasks: string[];
    metrics: Record<string, Operation>;
    public_jobs: Values;
  };
};

const method_names = [
  'setupPlugin',
  'teardownPlugin',
  'processEvent',
  'onEvent',
  'exportEvents',
  'composeWebhook',
  'getSettings',
];
/** Names that the platform may find at the top level of a package without exports. */
export const top_level_names = [
  ...method_names,
  'processEventBatch',
  'runEveryMinute',
  'runEveryHour',
  'runEveryDay',
  'jobs',
  'metrics',
  'publicJobs',
];

const operations: readonly Operation[] = ['sum', 'max', 'min'];

/**
 * Reads the exports of a module: those of `exports`, then those of its `default`. Throws an Error
 * for metrics of an unknown kind.
 */
export function readExports(module: unknown): Exported {
  const sources = [module, asValues(module)['default']].map(asValues);
  const get = (name: string): unknown =>
    sources.find((source) => source[name] !== undefined)?.[name];
  const jobs = asValues(get('jobs'));
  const find: Exported['find'] = (name) => {
    const value = name.startsWith('jobs.')
      ? ownValue(jobs, name.slice(5))
      : (get(name) ?? (name === 'processEvent' ? onBatch(get('processEventBatch')) : undefined));
    return typeof value === 'function'
      ? (value as (...parameters: unknown[]) => unknown)
      : undefined;
  };
  const names = [...new Set(sources.flatMap(Object.keys))];
  const jobNames = Object.keys(jobs).filter((name) => typeof jobs[name] === 'function');
  return {
    find,
    jobs: jobNames,
    inspection: {
      methods: method_names.filter((name) => find(name) !== undefined),
      jobs: jobNames,
      scheduled_tasks: names
        .filter((name) => name.startsWith('runEvery') && find(name) !== undefined)
        .sort(),
      metrics: readMetrics(asValues(get('metrics'))),
      public_jobs: Object.fromEntries(
        Object.entries(asValues(get('publicJobs'))).filter(([name]) => jobNames.includes(name)),
      ),
    },
  };
}

function asValues(value: unknown): Values {
  return typeof value === 'object' && value !== null ? (value as Values) : {};
}

function ownValue(values: Values, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** Old plugins only accept lists of events. */
function onBatch(batch: unknown): unknown {
  if (typeof batch !== 'function') return undefined;
  return async (event: unknown, meta: unknown) =>
    ((await batch([event], meta)) as unknown[] | undefined)?.[0] ?? null;
}

function readMetrics(metrics: Values): Record<string, Operation> {
  const texts = Object.entries(metrics).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(
    texts.map(([name, text]) => {
      const operation = operations.find((known) => known === text.toLowerCase());
      if (operation === undefined)
        throw new Error(`The metric ${name} has the operation ${text}: use sum, max or min.`);
      return [name, operation];
    }),
  );
}
