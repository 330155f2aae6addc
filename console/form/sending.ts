import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { askForChange } from '../http/change.ts';
import { openIdempotencyKeys } from '../http/idempotency.ts';
import type { Answer, Body, Change, Path, Route } from '../http/path.ts';
import type { Problem } from '../http/problem.ts';
import { noteEtag } from '../http/reading.ts';
import type { Values } from './values.ts';

/** The request of a form: the types of `path` and `method` determine its body and answer. */
export type Sending<Asked extends Change, To extends Route<Asked>, Sent> = {
  method?: Asked;
  path: Path<To>;
  /** Returns the body for the values; default: an empty object. */
  body?: (values: Filled<Body<Asked, To>>) => Exactly<Sent, Body<Asked, To>>;
  /** The next step; a promise is awaited, and its refusals are shown too. */
  done: (answer: Answer<Asked, To>, values: Values) => unknown;
  /** Returns true if it handled the refusal, which is then not shown. */
  refused?: (problem: Problem) => boolean;
};

/** The same for any form. */
export type AnySending = {
  method?: Change;
  path: Path;
  body?: (values: Values) => unknown;
  done: (answer: unknown, values: Values) => unknown;
  refused?: (problem: Problem) => boolean;
};

/**
 * The values of a form. A text with the name of a body's field has that field's type, because the
 * API checks it; others have the field's own type.
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

/** The sent value, without fields that the API refuses. */
type Exactly<Sent, Body> = Sent & { [Name in Exclude<keyof Sent, KeysOf<Body>>]: never };
type KeysOf<Body> = Body extends unknown ? keyof Body : never;

/** Sends the values; `problem` is the last failure, unless it was handled. */
export function useSending({
  method = 'POST',
  path,
  body = () => ({}),
  etag,
  done,
  refused,
}: AnySending & {
  /** Returns the ETag of the changed version, read when the form is sent. */
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
      // The next page may show data read a moment ago, which has changed since.
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
