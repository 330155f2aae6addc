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
  /** The ETag of the changed version. */
  if_match?: string | undefined;
  /** A fault after the form's own, such as a failed test; null without one. */
  later?: Problem | null | undefined;
  button: string;
  /** Text for screen readers that distinguishes several equal buttons. */
  about?: string;
  tone?: 'plain' | 'danger';
  /** Elements beside the button, such as a link to cancel. */
  beside?: ReactNode;
  /** Elements after the button, such as another way to send it. */
  also?: ReactNode;
  /** True if success empties the form. */
  clears?: boolean;
  /** Called with the values before sending; false prevents it. */
  confirm?: (values: Values) => boolean | Promise<boolean>;
  /** Returns the question before sending; undefined without one. */
  asks?: (values: Values) => Question | undefined;
  /** Identifies stored values beside method and path; null if the parent stores them. */
  part?: string | null;
  /** Called after the person has discarded the typed values, if the parent stores them. */
  discarded?: () => void;
  /**
   * Bases the form on the currently stored values and returns the differences, if the parent stores
   * the typed values.
   */
  takeUp?: () => OthersChange;
  children?: ReactNode;
};
type Given = AnySending & Common;

/**
 * A form that is sent to the API as JSON. A refusal appears at its field, or above the button if it
 * has none, and the first one gets the focus. Typed values stay, also after a lost session and a
 * reload. The button is disabled while the form waits. A person without the right only sees the
 * fields.
 */
export function Form<
  To extends Route<Asked>,
  const Asked extends Change = 'POST',
  Sent extends Body<Asked, To> = Body<Asked, To>,
>(given: Sending<Asked, To, Sent> & Common) {
  // The rest does not depend on the path's type, and does not read the values.
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

/** Says that the form shows values typed earlier, and offers to discard them. */
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

/** Sends the form after every question was answered with yes. */
function useConfirmed(
  { confirm, asks }: Given,
  form: { readonly current: HTMLFormElement | null },
  { send, is_busy }: { send: (values: Values) => void; is_busy: boolean },
) {
  const [asked, setAsked] = useState<{ question: Question; values: Values }>();
  const [is_confirming, setConfirming] = useState(false);
  const was_confirming = useRef(false);
  useEffect(() => {
    // The browser moved the focus away from the disabled button.
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

/** Restarts with the stored values: reads them again, and renders the fields as at first. */
function useDiscard(
  { path, discarded }: Given,
  { forget }: { forget: () => void },
  forgive: () => void,
  form: { readonly current: HTMLFormElement | null },
) {
  const queries = useQueryClient();
  const [turn, setTurn] = useState(0);
  // The pressed button disappears with the typed values, so the focus moves.
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
 * Shows faults at their fields; the first one gets the focus. A changed field has no fault until
 * the next try. A field without its own name is inside an element with `data-field`.
 */
/** Opens the closed parts of a page around a field, so that its fault is visible. */
function openAround(field: HTMLElement) {
  for (let at = field.closest('details'); at; at = at.parentElement?.closest('details') ?? null)
    at.open = true;
}

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
  // In the bubbling phase: rendering before the field's own handler would undo the input.
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
    const wrong = form.current?.querySelectorAll<HTMLElement>('[aria-invalid=true]') ?? [];
    for (const one of wrong) openAround(one);
    const [field] = wrong;
    (field ?? document.getElementById(whole_id))?.focus();
    // A refused password is invisible, so typing replaces it.
    if (field instanceof HTMLInputElement && field.type === 'password') field.select();
  }, [problem, whole_id, form]);
  return { context, whole: faultOf(violations, fields, undefined), whole_id, typed };
}
