import { useEffect, useState } from 'react';
import { Problem } from '../http/problem.ts';
import type { Values } from './values.ts';

/** Changes that others have saved while a form was open. */
export type OthersChange = {
  /** The names of the changed fields. */
  names: readonly string[];
  /** The stored values of fields into which the person had typed too. */
  theirs: Values;
};

/**
 * Returns the problem; if others have changed the record, one that names the fields by their
 * labels. `takeUp` bases the form on the currently stored values with the typed values on top, so
 * that the person can continue.
 */
export function useOthersChange(
  problem: Problem | undefined,
  form: { readonly current: HTMLFormElement | null },
  takeUp: () => OthersChange,
): Problem | undefined {
  const [told, setTold] = useState<{ of: Problem; problem: Problem }>();
  const is_news = problem?.status === 412 && told?.of !== problem;
  useEffect(() => {
    // After the stored values were rendered.
    queueMicrotask(() => {
      if (problem === undefined || !is_news || form.current === null) return;
      setTold({ of: problem, problem: toldOf(problem, takeUp(), form.current) });
    });
  }, [problem, is_news, form, takeUp]);
  if (problem?.status !== 412) return problem;
  return told?.of === problem ? told.problem : undefined;
}

function toldOf(problem: Problem, { names, theirs }: OthersChange, form: HTMLFormElement): Problem {
  const labels = [...new Set(fieldNames(form))]
    .filter((name) => names.includes(name))
    .map((name) => labelOf(form, name))
    .filter((label) => label !== '');
  if (labels.length === 0) return problem;
  const detail =
    `Somebody changed ${listed(labels)} since you opened this, so your changes were not saved. ` +
    'Your text is still here, and the other fields show the stored values. Check them and save ' +
    'again.';
  const clashes = Object.entries(theirs).map(([attr, value]) => ({
    attr,
    code: problem.code,
    detail: storedOf(form, attr, value),
  }));
  return new Problem(
    problem.status,
    [{ attr: null, code: problem.code, detail }, ...clashes],
    problem.request_id,
  );
}

function listed(labels: readonly string[]): string {
  const quoted = labels.map((label) => `“${label}”`);
  return new Intl.ListFormat('en-GB').format(quoted);
}

/** Returns the names of the fields in order; a field without a name has it in `data-field`. */
function fieldNames(form: HTMLFormElement): string[] {
  return [...form.querySelectorAll<HTMLElement>('[name], [data-field]')].map(
    (field) => field.dataset['field'] ?? field.getAttribute('name') ?? '',
  );
}

function fieldsNamed(form: HTMLFormElement, name: string): HTMLInputElement[] {
  return [...form.querySelectorAll<HTMLInputElement>(`[name=${CSS.escape(name)}]`)];
}

/** Returns the field's label; checkboxes of a group have their heading. */
function labelOf(form: HTMLFormElement, name: string): string {
  const [field, ...more] = fieldsNamed(form, name);
  const label =
    field === undefined
      ? form.querySelector(`[data-field=${CSS.escape(name)}] .field_label`)
      : more.length > 0
        ? field.closest('fieldset')?.querySelector('legend')
        : field.labels?.[0];
  return (label?.textContent ?? '').replace(/ \*$/, '');
}

const shown_characters_max = 100;

function storedOf(form: HTMLFormElement, name: string, value: Values[string]): string {
  const [field] = fieldsNamed(form, name);
  const choices: ArrayLike<HTMLOptionElement> =
    field instanceof HTMLSelectElement ? (field as HTMLSelectElement).options : [];
  const choice = Array.from(choices).find((option) => option.value === value);
  const text = choice?.text ?? value;
  if (text === '') return 'The stored value is empty now.';
  return typeof text === 'string' && text.length <= shown_characters_max && !text.includes('\n')
    ? `Stored now: “${text}”.`
    : 'Another person changed this too.';
}
