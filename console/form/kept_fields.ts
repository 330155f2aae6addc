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
 * An open form: its first version, its first values, and the typed values; for secrets and files
 * only the names of their fields.
 */
type Begun = {
  etag: string | undefined;
  initial: Values;
  values: Values;
  lost: readonly string[];
};

const none: readonly string[] = [];

/**
 * Stores the typed values of a form across a lost session, a reload and a server restart: in this
 * tab, until they are sent or discarded, without secrets and files. If another person changes the
 * record meanwhile, the form keeps its first version, so that the API refuses it and no change is
 * lost.
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
  // After each render, because filled-in values may add fields.
  useEffect(() => {
    if (form.current === null || Object.keys(waiting.current).length === 0) return;
    for (const filled of fill(waiting.current)) delete waiting.current[filled];
  });
  return {
    /** True if it shows values typed earlier. */
    is_restored,
    /** Fields with a secret or a file that was entered earlier and not stored. */
    lost,
    /** The version to change, read when the form is sent; from then on the form counts as open. */
    etag: () => {
      if (form.current === null || form_name === undefined) return if_match;
      begun.current ??= { etag: if_match, ...shownIn(form.current, waiting, lost) };
      return isAsBegun(form.current, begun.current) ? if_match : begun.current.etag;
    },
    /** Bases the form on the current version: typed values stay, the others are the stored ones. */
    takeUp: (): OthersChange => {
      if (form.current === null || begun.current === undefined) return { names: [], theirs: {} };
      const { left, ...change } = othersChangeIn(form.current, begun.current.initial);
      fill(left);
      begun.current = { etag: if_match, ...shownIn(form.current, waiting, lost) };
      keep(name, begun.current);
      return change;
    },
    /** Stores the typed values; the typed field is no longer lost. */
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

/** Returns the storage key of the person's form; undefined if nothing is stored. */
function useName(form_name: string | undefined): string | undefined {
  const typer = useContext(TyperContext);
  return form_name === undefined ? undefined : keptName(typer, form_name);
}

/** Fills in fields; `is_filling` is true meanwhile, because this is no typing. */
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

/** Returns the values before typing, and the current or awaited values. */
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

/** Returns the fields that others have changed and the person has typed into. */
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
