import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useId, useMemo, useRef, useState } from 'react';
import type { ReactNode, SyntheticEvent } from 'react';
import { ask } from '../http/ask.ts';
import type { Method } from '../http/ask.ts';
import { openIdempotencyKeys } from '../http/idempotency.ts';
import type { Problem } from '../http/problem.ts';
import { Sentence } from '../page/sentence.tsx';
import { FormContext } from './context.ts';
import { faultOf } from './faults.ts';
import { readValues } from './values.ts';
import type { Values } from './values.ts';

type Given<Answer> = {
  method?: Exclude<Method, 'GET'>;
  /** A path of the API. */
  path: string;
  /** What is sent of what was filled in; by default all of it. */
  body?: (values: Values) => unknown;
  /** The ETag of the version that is changed. */
  if_match?: string | undefined;
  /** What follows; what it gives to wait for is waited for. Its own refusals are shown too. */
  done: (answer: Answer, values: Values) => unknown;
  /** True when it dealt with the refusal, which is then not shown. */
  refused?: (problem: Problem) => boolean;
  /**
   * What is wrong with the values by a later word than that of this form, such as a test of them;
   * null: nothing.
   */
  later?: Problem | null | undefined;
  button: string;
  /** What screen readers add to the button's text, where several are alike. */
  about?: string;
  tone?: 'plain' | 'danger';
  /** Whether it is empty again once it is done. */
  clears?: boolean;
  /** Asked with what was filled in before anything is sent; false: nothing is. */
  confirm?: (values: Values) => boolean | Promise<boolean>;
  children?: ReactNode;
};

/**
 * A form that goes to the API as JSON. What the API refuses stands beside the field that it names,
 * the rest above the button, and the first place gets the focus; what was typed stays. While it
 * waits the button cannot be pressed again.
 */
export function Form<Answer>(given: Given<Answer>) {
  const { children, button, about, tone, path, method = 'POST' } = given;
  const form = useRef<HTMLFormElement>(null);
  const {
    send,
    is_busy,
    problem: own,
  } = useSending({
    ...given,
    done: async (answer: Answer, values: Values) => {
      await given.done(answer, values);
      if (given.clears === true) form.current?.reset();
    },
  });
  const problem = given.later === undefined ? own : (given.later ?? undefined);
  const { context, whole, whole_id } = useShownFaults(problem, form);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    void sendConfirmed();
  };
  const sendConfirmed = async () => {
    if (form.current === null || is_busy) return;
    const values = readValues(form.current);
    if (given.confirm === undefined || (await given.confirm(values))) send(values);
  };
  return (
    <FormContext value={context}>
      <form
        ref={form}
        method="post"
        action={path}
        data-method={method}
        onSubmit={submit}
        aria-busy={is_busy}
        className="form"
        noValidate
      >
        {children}
        <p role="alert" id={whole_id} tabIndex={-1} className="fault">
          <Sentence text={whole} />
        </p>
        <Button
          type="submit"
          loading={is_busy}
          variant={tone === undefined ? 'filled' : 'default'}
          className={tone === 'danger' ? 'danger' : ''}
        >
          {button}
          {about !== undefined && <span className="unseen"> {about}</span>}
        </Button>
      </form>
    </FormContext>
  );
}

/** Where what is wrong stands; the first place gets the focus. */
function useShownFaults(
  problem: Problem | undefined,
  form: { readonly current: HTMLFormElement | null },
) {
  const [fields] = useState(() => new Set<string>());
  const violations = useMemo(() => problem?.violations ?? [], [problem]);
  const context = useMemo(() => ({ violations, fields }), [violations, fields]);
  const whole_id = useId();
  useEffect(() => {
    if (problem === undefined) return;
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid=true]');
    (field ?? document.getElementById(whole_id))?.focus();
  }, [problem, whole_id, form]);
  return { context, whole: faultOf(violations, fields, undefined), whole_id };
}

/** Sends what was filled in; `problem` is why the last time failed, unless it was dealt with. */
function useSending<Answer>({
  method = 'POST',
  path,
  body = (values) => values,
  if_match,
  done,
  refused,
}: Given<Answer>) {
  const [keys] = useState(openIdempotencyKeys);
  const [is_handled, setHandled] = useState(false);
  const { mutate, isPending, error } = useMutation<unknown, Problem, Values>({
    mutationFn: async (values) => {
      const sent = body(values);
      const idempotency_key = method === 'POST' ? keys.keyOf(sent) : undefined;
      const outcome = await ask<Answer>(method, path, { body: sent, if_match, idempotency_key });
      if (outcome.ok || outcome.problem.status !== 0) keys.settle();
      if (!outcome.ok) throw outcome.problem;
      await done(outcome.body, values);
    },
    onMutate: () => setHandled(false),
    onError: (problem) => setHandled(refused?.(problem) === true),
  });
  return {
    send: mutate,
    is_busy: isPending,
    problem: error === null || is_handled ? undefined : error,
  };
}
