import { QueryClient, notifyManager, queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';
import type { Answer, Path, Route } from './path.ts';
import type { Problem } from './problem.ts';

declare module '@tanstack/react-query' {
  interface Register {
    defaultError: Problem;
  }
}

/** So often something is asked for that is under way, in milliseconds. */
const busy_interval_ms = 2_000;
/** So often everything else is asked for that is on the screen. */
const idle_interval_ms = 30_000;

/** The ETags of what was answered, by the very object of the answer. */
const etags = new WeakMap<object, string>();

/** The ETag of a record as it was answered, for `if_match`; undefined for what was not. */
export function etagOf(record: object | undefined): string | undefined {
  return record === undefined ? undefined : etags.get(record);
}

/** Notes the ETag of a record that an answer brought. */
export function noteEtag(record: unknown, etag: string | undefined): void {
  if (etag !== undefined && typeof record === 'object' && record !== null) etags.set(record, etag);
}

/** The path of the API that a query reads. */
export function pathOf({ queryKey }: { queryKey: readonly Path[] }): Path | undefined {
  return queryKey[0];
}

/** The automatic repetition of a reading. */
type Rhythm<Body> = {
  /** Returns true while work is in progress: then it is read every 2 s, otherwise every 30 s. */
  is_busy?: (body: Body) => boolean;
  /** False for what does not change under a person who looks at it. */
  polls?: boolean;
};

/**
 * The options of a query that reads a path of the API, for `useQuery` and `ensureQueryData`. The
 * path is its key, so that whoever changes something can name what is to be read anew. While it is
 * on the screen it is asked for again with its ETag; the object stays the same while nothing
 * changed, so nothing is drawn anew.
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

/** Holds what was read from the API. */
export function openQueries(): QueryClient {
  // Before the next event: the second press of a double click finds the button busy.
  notifyManager.setScheduler(queueMicrotask);
  return new QueryClient({
    defaultOptions: {
      // The browser's word that there is no line is not waited on: a request says why it failed.
      mutations: { networkMode: 'always' },
      queries: {
        networkMode: 'always',
        staleTime: 1_000,
        // A refusal stays one; what may have been an accident of the line is tried again.
        retry: (failures, problem) =>
          failures < 3 && (problem.status === 0 || problem.status >= 500),
      },
    },
  });
}
