/** The filled-in values, under the API's names. */
export type Values = Record<string, string | string[]>;

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Values that are used once or give access; they are never stored. */
const secret_kinds = ['one-time-code', 'current-password', 'new-password'];

/**
 * Reads a form except its files: checkboxes of one name form a list, and empty optional fields are
 * left out.
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
 * Reads the values of a form that may be stored: without secrets, files, and texts typed to
 * confirm.
 */
export function readKeepable(form: HTMLFormElement): Values {
  return valuesOf(fieldsOf(form).filter(isKeepable));
}

/**
 * Returns the names of fields with a typed secret or a chosen file, whose values are never stored.
 * Codes are not included, because they could not be used again.
 */
export function givenUnkept(form: HTMLFormElement): string[] {
  return fieldsOf(form)
    .filter((field) => !isKeepable(field) && field.type !== 'hidden')
    .filter(({ value, autocomplete }) => value !== '' && autocomplete !== 'one-time-code')
    .map(({ name }) => name);
}

/**
 * Fills in stored values as if they were typed, so that owners of a field's text see them. Returns
 * the names for which the form has a field; filled-in values may add more fields.
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
 * Reads the values of the form before typing: a later difference comes from others. Fields whose
 * element cannot tell have it in `data-initial`.
 */
export function readInitial(form: HTMLFormElement): Values {
  return valuesOf(fieldsOf(form).filter(isKeepable), (field) =>
    isBox(field)
      ? { value: field.value, checked: field.defaultChecked }
      : { value: field.dataset['initial'] ?? defaultOf(field) },
  );
}

/** Returns the names of fields whose values differ. */
export function differingNames(before: Values, after: Values): string[] {
  return Object.entries(before)
    .filter(([name, value]) => name in after && String(after[name]) !== String(value))
    .map(([name]) => name);
}

/**
 * Returns the typed whole number. Another text is sent unchanged, and the API reports it at the
 * field.
 */
export function numberOf(text: string): number {
  return /^\s*-?\d{1,15}\s*$/.test(text) ? Number(text) : (text as unknown as number);
}

/** Returns the values with these names. */
export function valuesNamed(values: Values, names: readonly string[]): Values {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}

function defaultOf(field: Field): string {
  return field instanceof HTMLSelectElement ? '' : field.defaultValue;
}

/** Returns the current values of the fields, unless others are requested. */
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

/**
 * Sets a field's value and dispatches an event, bypassing React, which tracks values of its own
 * fields.
 */
function write(field: Field, value: string): void {
  const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value') ?? {};
  set?.call(field, value);
  const kind = field instanceof HTMLSelectElement ? 'change' : 'input';
  field.dispatchEvent(new Event(kind, { bubbles: true }));
}

/**
 * Returns the first field with a partly typed day or instant, which the browser reports as empty:
 * sent like that, it would mean no condition or no end.
 */
export function halfTyped(form: HTMLFormElement): HTMLInputElement | undefined {
  return [...form.elements].find(
    (field): field is HTMLInputElement =>
      field instanceof HTMLInputElement && field.validity.badInput,
  );
}
