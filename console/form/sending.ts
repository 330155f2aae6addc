import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Method } from '../http/ask.ts';
import { askForChange } from '../http/change.ts';
import { openIdempotencyKeys } from '../http/idempotency.ts';
import type { Problem } from '../http/problem.ts';
import { noteEtag } from '../http/reading.ts';
import { useBegun } from '../page/section.tsx';
import type { Values } from './values.ts';

/** How a form is sent. */
export type Sending<Answer> = {
  method?: Exclude<Method, 'GET'>;
  /** A path of the API. */
  path: string;
  /** What is sent of what was filled in; by default all of it. */
  body?: (values: Values) => unknown;
  /** What follows; what it gives to wait for is waited for. Its own refusals are shown too. */
  done: (answer: Answer, values: Values) => unknown;
  /** True when it dealt with the refusal, which is then not shown. */
  refused?: (problem: Problem) => boolean;
};

/** Sends what was filled in; `problem` is why the last time failed, unless it was dealt with. */
export function useSending<Answer>({
  method = 'POST',
  path,
  body = (values) => values,
  etag,
  done,
  refused,
}: Sending<Answer> & {
  /** The ETag of the version that is changed, asked for when it is sent. */
  etag: () => string | undefined;
}) {
  const queries = useQueryClient();
  const begun = useBegun();
  const [keys] = useState(openIdempotencyKeys);
  const [is_handled, setHandled] = useState(false);
  const { mutate, reset, isPending, error } = useMutation<unknown, Problem, Values>({
    mutationFn: async (values) => {
      const sent = body(values);
      const idempotency_key = method === 'POST' ? keys.keyOf(sent) : undefined;
      const outcome = await askForChange<Answer>(
        queries,
        method,
        path,
        { body: sent, if_match: etag(), idempotency_key },
        method === 'PATCH' ? Object.keys(sent ?? {}) : undefined,
      );
      if (outcome.ok || outcome.problem.status !== 0) keys.settle();
      if (!outcome.ok) throw outcome.problem;
      noteEtag(outcome.body, outcome.etag);
      // The next page may show what was read a moment ago, and changed since.
      await queries.invalidateQueries({ refetchType: 'none' });
      await done(outcome.body, values);
    },
    onMutate: () => {
      begun();
      setHandled(false);
    },
    onError: (problem) => setHandled(refused?.(problem) === true),
  });
  return {
    send: mutate,
    is_busy: isPending,
    problem: error === null || is_handled ? undefined : error,
    forgive: reset,
  };
}
