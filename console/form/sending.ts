import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { askForChange } from '../http/change.ts';
import { openIdempotencyKeys } from '../http/idempotency.ts';
import type { Answer, Body, Change, Path, Route } from '../http/path.ts';
import type { Problem } from '../http/problem.ts';
import { noteEtag } from '../http/reading.ts';
import type { Values } from './values.ts';

/** The sending of a form: the types of `path` and `method` determine its body and answer. */
export type Sending<Asked extends Change, To extends Route<Asked>, Sent> = {
  method?: Asked;
  path: Path<To>;
  /** Makes the body of what was filled in; an empty object where it is left out. */
  body?: (values: Filled<Body<Asked, To>>) => Exactly<Sent, Body<Asked, To>>;
  /** The next step; a promise is awaited, and its refusals are shown too. */
  done: (answer: Answer<Asked, To>, values: Values) => unknown;
  /** True when it dealt with the refusal, which is then not shown. */
  refused?: (problem: Problem) => boolean;
};

/** The same for whoever sends any form. */
export type AnySending = {
  method?: Change;
  path: Path;
  body?: (values: Values) => unknown;
  done: (answer: unknown, values: Values) => unknown;
  refused?: (problem: Problem) => boolean;
};

/**
 * The filled-in values. A text under a name of the body has the body's type, since the API checks
 * it; others have the fields' types.
 */
type Filled<Body> = Values & {
  [Name in TextNames<Body>]: Exclude<Body[Name & keyof Body], null>;
};
type TextNames<Body> = Body extends unknown
  ? {
      [Name in keyof Body]-?: IsText<NonNullable<Body[Name]>> extends true ? Name : never;
    }[keyof Body]
  : never;
type IsText<Value> = [Value] extends [string] | [string[]] ? true : false;

/** The sent value, without a field that the API refuses. */
type Exactly<Sent, Body> = Sent & { [Name in Exclude<keyof Sent, KeysOf<Body>>]: never };
type KeysOf<Body> = Body extends unknown ? keyof Body : never;

/** Sends what was filled in; `problem` is why the last time failed, unless it was dealt with. */
export function useSending({
  method = 'POST',
  path,
  body = () => ({}),
  etag,
  done,
  refused,
}: AnySending & {
  /** The ETag of the version that is changed, asked for when it is sent. */
  etag: () => string | undefined;
}) {
  const queries = useQueryClient();
  const [keys] = useState(openIdempotencyKeys);
  const [is_handled, setHandled] = useState(false);
  const { mutate, reset, isPending, error } = useMutation<unknown, Problem, Values>({
    mutationFn: async (values) => {
      const sent = body(values);
      const idempotency_key = method === 'POST' ? keys.keyOf(sent) : undefined;
      const outcome = await askForChange(
        queries,
        method,
        path as Path<Route<Change>>,
        { body: sent as never, if_match: etag(), idempotency_key },
        method === 'PATCH' ? Object.keys(sent ?? {}) : undefined,
      );
      if (outcome.ok || outcome.problem.status !== 0) keys.settle();
      if (!outcome.ok) throw outcome.problem;
      noteEtag(outcome.body, outcome.etag);
      // The next page may show what was read a moment ago, and changed since.
      await queries.invalidateQueries({ refetchType: 'none' });
      await done(outcome.body, values);
    },
    onMutate: () => setHandled(false),
    onError: (problem) => setHandled(refused?.(problem) === true),
  });
  return {
    send: mutate,
    is_busy: isPending,
    problem: error === null || is_handled ? undefined : error,
    forgive: reset,
  };
}
