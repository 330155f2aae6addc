import { QueryClient, notifyManager, queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';
import type { Answer, Path, Route } from './path.ts';
import type { Problem } from './problem.ts';

declare module '@tanstack/react-query' {
  interface Register {
    defaultError: Problem;
  }
}

/** Milliseconds between readings of work in progress. */
const busy_interval_ms = 2_000;
/** Milliseconds between readings of other visible data. */
const idle_interval_ms = 30_000;

/** The ETags of answers, by the answer's object. */
const etags = new WeakMap<object, string>();

/** Returns the ETag of an answered record, for `if_match`; undefined for other objects. */
export function etagOf(record: object | undefined): string | undefined {
  return record === undefined ? undefined : etags.get(record);
}

/** Stores the ETag of a record from an answer. */
export function noteEtag(record: unknown, etag: string | undefined): void {
  if (etag !== undefined && typeof record === 'object' && record !== null) etags.set(record, etag);
}

/** Returns the API path of a query. */
export function pathOf({ queryKey }: { queryKey: readonly Path[] }): Path | undefined {
  return queryKey[0];
}

/** The automatic repetition of a reading. */
type Rhythm<Body> = {
  /** Returns true while work is in progress: it is then read every 2 s, otherwise every 30 s. */
  is_busy?: (body: Body) => boolean;
  /** False for data that must not change while a person looks at it. */
  polls?: boolean;
};

/**
 * Returns the options of a query that reads a path of the API, for `useQuery` and
 * `ensureQueryData`. The path is its key, so that a change can name the data to read again. While
 * visible, it is read again with its ETag; the object stays the same while nothing changes, so
 * nothing is rendered again.
 */
export function reading<To extends Route<'GET'>>(
  path: Path<To>,
  rhythm: Rhythm<Answer<'GET', To>> = {},
) {
  const { is_busy = () => false, polls = true } = rhythm;
  return queryOptions({
    queryKey: [path],
    queryFn: async ({ client, signal }): Promise<Answer<'GET', To>> => {
      const known = client.getQueryData<Answer<'GET', To>>([path]);
      const outcome = await ask('GET', path, {
        if_none_match: etagOf(known as object | undefined),
        signal,
      });
      if (!outcome.ok) throw outcome.problem;
      if (outcome.status === 304 && known !== undefined) return known as Answer<'GET', To>;
      noteEtag(outcome.body, outcome.etag);
      return outcome.body;
    },
    structuralSharing: false,
    refetchInterval: ({ state }) =>
      polls &&
      (state.data !== undefined && is_busy(state.data as Answer<'GET', To>)
        ? busy_interval_ms
        : idle_interval_ms),
  });
}

/** Opens the cache of API data. */
export function openQueries(): QueryClient {
  // Synchronous, so that the second click of a double click finds the button busy.
  notifyManager.setScheduler(queueMicrotask);
  return new QueryClient({
    defaultOptions: {
      // The browser's offline state is not trusted: a request shows why it fails.
      mutations: { networkMode: 'always' },
      queries: {
        networkMode: 'always',
        staleTime: 1_000,
        // A refusal is final; a possible network error is retried.
        retry: (failures, problem) =>
          failures < 3 && (problem.status === 0 || problem.status >= 500),
      },
    },
  });
}
