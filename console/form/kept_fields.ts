import { useContext, useEffect, useRef, useState } from 'react';
import { TyperContext, forgetKept, keep, keptName, readKept } from './kept.ts';
import { fillIn, readInitial, readKeepable, givenUnkept } from './values.ts';
import type { Values } from './values.ts';

/**
 * A form under way: the version that it began with, what its fields had then, what was typed; of
 * secrets and files the names of their fields.
 */
type Begun = {
  etag: string | undefined;
  initial: string;
  values: Values;
  lost: readonly string[];
};

const none: readonly string[] = [];

/**
 * What was typed in a form, which outlives a lost session, a reload and a restart of the server:
 * this tab keeps it until it is sent or forgotten, secrets and files left out. Where somebody else
 * changed meanwhile what the form is about, it stays with the version that it began with, so that
 * it is refused and undoes nothing.
 */
export function useKeptFields(
  form: { readonly current: HTMLFormElement | null },
  form_name: string | undefined,
  if_match: string | undefined,
) {
  const typer = useContext(TyperContext);
  const name = form_name === undefined ? undefined : keptName(typer, form_name);
  const begun = useRef<Begun>(undefined);
  const waiting = useRef<Values>({});
  const is_filling = useRef(false);
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
    is_filling.current = true;
    for (const filled of fillIn(form.current, waiting.current)) delete waiting.current[filled];
    is_filling.current = false;
    const around = form.current.closest('details');
    if (around !== null) around.open = true;
  });
  return {
    /** Whether it shows what was typed before it was there. */
    is_restored,
    /** The fields with a secret or a file that was given before it was there, and not kept. */
    lost,
    etag: () => etagOf(begun.current, form.current, if_match),
    /** Keeps what is typed now; of the field that it was typed into nothing is lost any more. */
    typed: ({ target }: { target: EventTarget }) => {
      if (is_filling.current || form.current === null || form_name === undefined) return;
      const left = lost.filter((one) => one !== (target as Partial<HTMLInputElement>).name);
      if (left.length < lost.length) setLost(left);
      const begin = { etag: if_match, initial: readInitial(form.current) };
      begun.current = {
        ...(begun.current ?? begin),
        values: { ...waiting.current, ...readKeepable(form.current) },
        lost: [...new Set([...left, ...givenUnkept(form.current)])],
      };
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

/** The version to change: the present one, unless the form began with other fields than it has. */
function etagOf(
  begun: Begun | undefined,
  form: HTMLFormElement | null,
  present: string | undefined,
): string | undefined {
  if (begun === undefined) return present;
  return form !== null && begun.initial === readInitial(form) ? present : begun.etag;
}
