/** The filled-in values, under the API's names. */
export type Values = Record<string, string | string[]>;

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Values that are used once or open something: no storage ever has them. */
const secret_kinds = ['one-time-code', 'current-password', 'new-password'];

/**
 * Reads a form but for its files: boxes of one name are a list, empty fields that are marked
 * optional are left out.
 */
export function readValues(form: HTMLFormElement): Values {
  return valuesOf(
    fieldsOf(form)
      .filter(({ type }) => type !== 'file')
      .filter(
        (field) => isBox(field) || field.value !== '' || field.dataset['optional'] === undefined,
      ),
  );
}

/**
 * Reads the values of a form that may be kept: all but secrets, files, and texts typed to confirm.
 */
export function readKeepable(form: HTMLFormElement): Values {
  return valuesOf(fieldsOf(form).filter(isKeepable));
}

/**
 * The secrets that were typed into a form and the files that were chosen, by the names of their
 * fields: nothing else is kept of them. A code is none of them: it could not be used again.
 */
export function givenUnkept(form: HTMLFormElement): string[] {
  return fieldsOf(form)
    .filter((field) => !isKeepable(field) && field.type !== 'hidden')
    .filter(({ value, autocomplete }) => value !== '' && autocomplete !== 'one-time-code')
    .map(({ name }) => name);
}

/**
 * Fills in what was kept, as if it were typed, so that whoever holds a field's text learns of it.
 * Gives the names that the form has a field for; others may come, because of what was filled in.
 */
export function fillIn(form: HTMLFormElement, kept: Values): string[] {
  const fields = fieldsOf(form).filter((field) => isKeepable(field) && field.name in kept);
  for (const field of fields) {
    const value = kept[field.name]!;
    if (isBox(field)) {
      if (field.checked !== [value].flat().includes(field.value)) field.click();
    } else if (typeof value === 'string' && field.value !== value) write(field, value);
  }
  return fields.map(({ name }) => name);
}

/**
 * Reads the values of the form before anything was typed: a later difference comes from others.
 * Fields whose element does not know it have it in `data-initial`.
 */
export function readInitial(form: HTMLFormElement): Values {
  return valuesOf(fieldsOf(form).filter(isKeepable), (field) =>
    isBox(field)
      ? { value: field.value, checked: field.defaultChecked }
      : { value: field.dataset['initial'] ?? defaultOf(field) },
  );
}

/** The names of the fields that both have, with another value. */
export function differingNames(before: Values, after: Values): string[] {
  return Object.entries(before)
    .filter(([name, value]) => name in after && String(after[name]) !== String(value))
    .map(([name]) => name);
}

/**
 * The whole number that was typed. Another text goes to the API as it is, which says at the field
 * what is wrong with it.
 */
export function numberOf(text: string): number {
  return /^\s*-?\d{1,15}\s*$/.test(text) ? Number(text) : (text as unknown as number);
}

/** The values of these names. */
export function valuesNamed(values: Values, names: readonly string[]): Values {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}

function defaultOf(field: Field): string {
  return field instanceof HTMLSelectElement ? '' : field.defaultValue;
}

/** Returns the current values of the fields if nothing else is asked for. */
function valuesOf(
  fields: Field[],
  read: (field: Field) => { value: string; checked?: boolean } = (field) => field,
): Values {
  const values: Values = {};
  for (const field of fields) {
    const { name } = field;
    const { value, checked } = read(field);
    if (isBox(field)) {
      const others = [values[name] ?? []].flat();
      values[name] = checked === true ? [...others, value] : others;
    } else values[name] = value;
  }
  return values;
}

function fieldsOf(form: HTMLFormElement): Field[] {
  return [...form.elements].filter(
    (field): field is Field =>
      (field instanceof HTMLInputElement ||
        field instanceof HTMLSelectElement ||
        field instanceof HTMLTextAreaElement) &&
      field.name !== '',
  );
}

function isBox(field: Field): field is HTMLInputElement {
  return field instanceof HTMLInputElement && field.type === 'checkbox';
}

function isKeepable(field: Field): boolean {
  return (
    !['password', 'file', 'hidden'].includes(field.type) &&
    !secret_kinds.includes(field.autocomplete) &&
    field.dataset['unkept'] === undefined
  );
}

/** Sets a field's value and tells of it, past React, which holds the value of its own fields. */
function write(field: Field, value: string): void {
  const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value') ?? {};
  set?.call(field, value);
  const kind = field instanceof HTMLSelectElement ? 'change' : 'input';
  field.dispatchEvent(new Event(kind, { bubbles: true }));
}

/**
 * The first field with half a day or instant, which the browser gives as empty: sent so, it would
 * be no condition, or the end of nothing.
 */
export function halfTyped(form: HTMLFormElement): HTMLInputElement | undefined {
  return [...form.elements].find(
    (field): field is HTMLInputElement =>
      field instanceof HTMLInputElement && field.validity.badInput,
  );
}
