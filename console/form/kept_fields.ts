import { useContext, useEffect, useRef, useState } from 'react';
import { TyperContext, forgetKept, keep, keptName, readKept } from './kept.ts';
import type { OthersChange } from './others_change.ts';
import {
  differingNames,
  fillIn,
  givenUnkept,
  readInitial,
  readKeepable,
  valuesNamed,
} from './values.ts';
import type { Values } from './values.ts';

/**
 * A form under way: the version that it began with, what its fields had then, what was typed; of
 * secrets and files the names of their fields.
 */
type Begun = {
  etag: string | undefined;
  initial: Values;
  values: Values;
  lost: readonly string[];
};

const none: readonly string[] = [];

/**
 * Keeps the typed values of a form over a lost session, a reload and a restart of the server: in
 * this tab, until they are sent or discarded, without secrets and files. If another person changed
 * the record meanwhile, the form stays with its first version, so that it is refused and undoes
 * nothing.
 */
export function useKeptFields(
  form: { readonly current: HTMLFormElement | null },
  form_name: string | undefined,
  if_match: string | undefined,
) {
  const name = useName(form_name);
  const begun = useRef<Begun>(undefined);
  const waiting = useRef<Values>({});
  const { is_filling, fill } = useFilling(form);
  const [is_restored, setRestored] = useState(false);
  const [lost, setLost] = useState(none);
  useEffect(() => {
    begun.current = readKept<Begun>(name);
    waiting.current = { ...begun.current?.values };
    setRestored(begun.current !== undefined);
    setLost(begun.current?.lost ?? none);
  }, [name]);
  // After each drawing: what is filled in may bring more fields.
  useEffect(() => {
    if (form.current === null || Object.keys(waiting.current).length === 0) return;
    for (const filled of fill(waiting.current)) delete waiting.current[filled];
  });
  return {
    /** True if it shows values typed earlier. */
    is_restored,
    /** The fields with a secret or a file that was given before it was there, and not kept. */
    lost,
    /** The version to change, asked for when it is sent: from then on the form is under way. */
    etag: () => {
      if (form.current === null || form_name === undefined) return if_match;
      begun.current ??= { etag: if_match, ...shownIn(form.current, waiting, lost) };
      return isAsBegun(form.current, begun.current) ? if_match : begun.current.etag;
    },
    /** Makes it a form of the present version; what was typed stays, the rest is as stored. */
    takeUp: (): OthersChange => {
      if (form.current === null || begun.current === undefined) return { names: [], theirs: {} };
      const { left, ...change } = othersChangeIn(form.current, begun.current.initial);
      fill(left);
      begun.current = { etag: if_match, ...shownIn(form.current, waiting, lost) };
      keep(name, begun.current);
      return change;
    },
    /** Keeps what is typed now; of the field that it was typed into nothing is lost any more. */
    typed: ({ target }: { target: EventTarget }) => {
      if (is_filling.current || form.current === null || form_name === undefined) return;
      const left = lost.filter((one) => one !== (target as Partial<HTMLInputElement>).name);
      if (left.length < lost.length) setLost(left);
      const { initial, ...now } = shownIn(form.current, waiting, left);
      begun.current = { etag: if_match, initial, ...begun.current, ...now };
      keep(name, begun.current);
    },
    forget: () => {
      begun.current = undefined;
      waiting.current = {};
      setRestored(false);
      setLost(none);
      forgetKept(name);
    },
  };
}

/** Under which name the person's typing is kept; undefined: nothing is. */
function useName(form_name: string | undefined): string | undefined {
  const typer = useContext(TyperContext);
  return form_name === undefined ? undefined : keptName(typer, form_name);
}

/** Fills fields in; `is_filling` is on meanwhile, which is no typing. */
function useFilling(form: { readonly current: HTMLFormElement | null }) {
  const is_filling = useRef(false);
  const fill = (values: Values) => {
    if (form.current === null) return [];
    is_filling.current = true;
    const filled = fillIn(form.current, values);
    is_filling.current = false;
    const around = form.current.closest('details');
    if (around !== null) around.open = true;
    return filled;
  };
  return { is_filling, fill };
}

/** Returns the fields before anything was typed, and their current or awaited values. */
function shownIn(
  form: HTMLFormElement,
  waiting: { readonly current: Values },
  lost: readonly string[],
): Omit<Begun, 'etag'> {
  return {
    initial: readInitial(form),
    values: { ...waiting.current, ...readKeepable(form) },
    lost: [...new Set([...lost, ...givenUnkept(form)])],
  };
}

function isAsBegun(form: HTMLFormElement, { initial }: Begun): boolean {
  return differingNames(initial, readInitial(form)).length === 0;
}

/**
 * Returns the fields that others have changed since, apart from those that the person left alone.
 */
function othersChangeIn(form: HTMLFormElement, before: Values): OthersChange & { left: Values } {
  const now = readInitial(form);
  const shown = readKeepable(form);
  const names = differingNames(before, now);
  const typed = differingNames(before, shown);
  const clashes = names.filter((name) => typed.includes(name));
  return {
    names,
    theirs: valuesNamed(now, differingNames(valuesNamed(shown, clashes), now)),
    left: valuesNamed(
      now,
      names.filter((name) => !typed.includes(name)),
    ),
  };
}
