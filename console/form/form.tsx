import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useContext, useEffect, useId, useMemo, useRef, useState } from 'react';
import type { ReactNode, SyntheticEvent } from 'react';
import type { Problem } from '../http/problem.ts';
import { hasNoFocus } from '../page/around/focus.ts';
import { begun } from '../page/section.tsx';
import { Sentence } from '../page/text/sentence.tsx';
import { FormContext, LookOnlyContext } from './context.ts';
import { faultOf, unchangedOf } from './faults.ts';
import { useKeptFields } from './kept_fields.ts';
import { useOthersChange } from './others_change.ts';
import type { OthersChange } from './others_change.ts';
import { Asking } from './question.tsx';
import type { Question } from './question.tsx';
import { useSending } from './sending.ts';
import type { AnySending, Sending } from './sending.ts';
import type { Body, Change, Route } from '../http/path.ts';
import { halfTyped, readValues } from './values.ts';
import type { Values } from './values.ts';

type Common = {
  /** The ETag of the version that is changed. */
  if_match?: string | undefined;
  /** A later fault of the values than the form's own, such as that of a test; null without one. */
  later?: Problem | null | undefined;
  button: string;
  /** Addition for screen readers to the button's text if several are alike. */
  about?: string;
  tone?: 'plain' | 'danger';
  /** Elements beside the button, such as a way to leave it. */
  beside?: ReactNode;
  /** Elements after the button, such as another way to send it. */
  also?: ReactNode;
  /** True if it is emptied after success. */
  clears?: boolean;
  /** Asked with what was filled in before anything is sent; false: nothing is. */
  confirm?: (values: Values) => boolean | Promise<boolean>;
  /** Returns the question before anything is sent; undefined without one. */
  asks?: (values: Values) => Question | undefined;
  /**
   * Tells it from other forms with its method and path, for what is kept of it; null where whoever
   * draws it keeps what is typed.
   */
  part?: string | null;
  /** Called when the person has thrown away what they typed, for whoever holds it. */
  discarded?: () => void;
  /**
   * Makes it a form of what is stored by now and says what differs, where whoever draws it keeps
   * what is typed.
   */
  takeUp?: () => OthersChange;
  children?: ReactNode;
};
type Given = AnySending & Common;

/**
 * A form that is sent to the API as JSON. A refusal stands beside the field that it names, the rest
 * above the button, and the first place gets the focus; typed values stay, also over a lost session
 * and a reload. The button is disabled while it waits. A person without the right sees the fields
 * alone.
 */
export function Form<
  To extends Route<Asked>,
  const Asked extends Change = 'POST',
  Sent extends Body<Asked, To> = Body<Asked, To>,
>(given: Sending<Asked, To, Sent> & Common) {
  // The rest is the same for each path, and does not read the values.
  if (!useContext(LookOnlyContext)) return <OpenForm {...(given as unknown as Given)} />;
  if (given.children === undefined) return null;
  return (
    <fieldset disabled className="form look_only">
      {given.children}
    </fieldset>
  );
}

function OpenForm(given: Given) {
  const { children, path, method = 'POST', part = '' } = given;
  const form = useRef<HTMLFormElement>(null);
  const kept = useKeptFields(
    form,
    part === null ? undefined : `${method} ${path} ${part}`,
    given.if_match,
  );
  const sending = useSending({
    ...given,
    etag: kept.etag,
    done: async (answer, values) => {
      kept.forget();
      await given.done(answer, values);
      if (given.clears === true) form.current?.reset();
    },
  });
  const told = given.later === undefined ? sending.problem : (given.later ?? undefined);
  const problem = useOthersChange(told, form, given.takeUp ?? kept.takeUp);
  const { context, whole, whole_id, typed } = useShownFaults(problem, form, kept);
  const { submit, question, answer, is_confirming } = useConfirmed(given, form, sending);
  const is_busy = sending.is_busy || is_confirming;
  const is_old = problem?.status === 412;
  const { turn, discard } = useDiscard(given, kept, sending.forgive, form);
  return (
    <FormContext value={context}>
      <form
        key={turn}
        ref={form}
        method="post"
        action={path}
        data-method={method}
        onSubmit={submit}
        onInput={typed}
        onChange={kept.typed}
        aria-busy={is_busy}
        className="form"
        noValidate
      >
        {children}
        {part !== null && children !== undefined && (kept.is_restored || is_old) && (
          <Typed lost={kept.lost} is_old={is_old} discard={discard} />
        )}
        <p role="alert" id={whole_id} tabIndex={-1} className="fault">
          <Sentence text={whole} />
        </p>
        <Submit {...given} is_busy={is_busy} />
      </form>
      {question !== undefined && <Asking question={question} answer={answer} />}
    </FormContext>
  );
}

function Submit({
  button,
  about,
  tone,
  beside,
  also,
  is_busy,
}: Pick<Given, 'button' | 'about' | 'tone' | 'beside' | 'also'> & { is_busy: boolean }) {
  const submit = (
    <Button
      type="submit"
      loading={is_busy}
      variant={tone === undefined ? 'filled' : 'default'}
      className={tone === 'danger' ? 'danger' : ''}
    >
      {button}
      {about !== undefined && <span className="unseen"> {about}</span>}
    </Button>
  );
  if (beside === undefined && also === undefined) return submit;
  return (
    <div className={also === undefined ? 'answers' : 'toolbar'}>
      {beside}
      {submit}
      {also}
    </div>
  );
}

const none: ReadonlySet<string> = new Set();

const typed_before = 'This is what you typed before.';

/** Says that the form holds what was typed before, and offers to begin again. */
function Typed({
  lost,
  is_old,
  discard,
}: {
  lost: readonly string[];
  /** True if the stored record has changed meanwhile. */
  is_old: boolean;
  discard: () => void;
}) {
  return (
    <p className="muted">
      {is_old ? 'This is what you typed. To see the stored values:' : typed_before}{' '}
      {lost.length > 0 && 'Secrets and files are not kept: the fields say which to enter again. '}
      <Button size="compact-sm" variant="subtle" onClick={discard}>
        Discard what you typed
      </Button>
    </p>
  );
}

/** Sends the form once everything that is asked before was answered with yes. */
function useConfirmed(
  { confirm, asks }: Given,
  form: { readonly current: HTMLFormElement | null },
  { send, is_busy }: { send: (values: Values) => void; is_busy: boolean },
) {
  const [asked, setAsked] = useState<{ question: Question; values: Values }>();
  const [is_confirming, setConfirming] = useState(false);
  const was_confirming = useRef(false);
  useEffect(() => {
    // The browser took the focus from the button while it could not be pressed.
    if (was_confirming.current && !is_confirming && hasNoFocus())
      form.current?.querySelector<HTMLElement>('[type=submit]')?.focus();
    was_confirming.current = is_confirming;
  }, [is_confirming, form]);
  const sendConfirmed = async () => {
    if (form.current === null || is_busy || is_confirming) return;
    const half = halfTyped(form.current);
    if (half !== undefined) {
      half.reportValidity();
      return;
    }
    begun();
    const values = readValues(form.current);
    if (confirm !== undefined) {
      setConfirming(true);
      const is_meant = await Promise.resolve(confirm(values)).finally(() => setConfirming(false));
      if (!is_meant) return;
    }
    const question = asks?.(values);
    if (question === undefined) send(values);
    else setAsked({ question, values });
  };
  return {
    is_confirming,
    submit: (event: SyntheticEvent) => {
      event.preventDefault();
      void sendConfirmed();
    },
    question: asked?.question,
    answer: (is_yes: boolean) => {
      setAsked(undefined);
      if (is_yes && asked !== undefined) send(asked.values);
    },
  };
}

/** Begins again with what is stored: reads it anew, and draws the fields as at the first time. */
function useDiscard(
  { path, discarded }: Given,
  { forget }: { forget: () => void },
  forgive: () => void,
  form: { readonly current: HTMLFormElement | null },
) {
  const queries = useQueryClient();
  const [turn, setTurn] = useState(0);
  // The button that was pressed is gone with what was typed.
  useEffect(() => {
    if (turn > 0) form.current?.querySelector<HTMLElement>('input, select, textarea')?.focus();
  }, [turn, form]);
  const discard = async () => {
    forget();
    await queries.invalidateQueries({ queryKey: [path], exact: true });
    discarded?.();
    forgive();
    setTurn(turn + 1);
  };
  return { turn, discard: () => void discard() };
}

/**
 * Shows faults at their places; the first one gets the focus. A changed field has no fault until
 * the next try. A field without a name of its own stands in an element with `data-field`.
 */
function useShownFaults(
  problem: Problem | undefined,
  form: { readonly current: HTMLFormElement | null },
  { lost, typed: keepTyped }: Pick<ReturnType<typeof useKeptFields>, 'lost' | 'typed'>,
) {
  const [fields] = useState(() => new Set<string>());
  const told = useMemo(() => problem?.violations ?? [], [problem]);
  const [since, setSince] = useState({ told, names: none });
  const names = since.told === told ? since.names : none;
  const violations = useMemo(() => unchangedOf(told, fields, names), [told, fields, names]);
  // Not as it goes down: a drawing before the field's own handler would undo what was typed.
  const typed = (event: SyntheticEvent) => {
    keepTyped(event);
    begun();
    const { target } = event;
    const { name = '' } = target as Partial<HTMLInputElement>;
    const around = (target as HTMLElement).closest<HTMLElement>('[data-field]');
    const field = name === '' ? around?.dataset['field'] : name;
    if (told.length > 0 && field !== undefined && !names.has(field))
      setSince({ told, names: new Set([...names, field]) });
  };
  const context = useMemo(() => ({ violations, fields, lost }), [violations, fields, lost]);
  const whole_id = useId();
  useEffect(() => {
    if (problem === undefined) return;
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid=true]');
    (field ?? document.getElementById(whole_id))?.focus();
    // Nobody sees where in a refused password the fault is: typing replaces it.
    if (field instanceof HTMLInputElement && field.type === 'password') field.select();
  }, [problem, whole_id, form]);
  return { context, whole: faultOf(violations, fields, undefined), whole_id, typed };
}
