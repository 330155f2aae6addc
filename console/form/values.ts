/** What was filled in, under the API's names. */
export type Values = Record<string, string | string[]>;

/**
 * Reads a form: boxes of one name are a list, empty fields that are marked optional are left out.
 */
export function readValues(form: HTMLFormElement): Values {
  const values: Values = {};
  for (const field of form.elements) {
    if (!isField(field) || field.name === '') continue;
    const { name, value } = field;
    if (field instanceof HTMLInputElement && field.type === 'checkbox') {
      const others = [values[name] ?? []].flat();
      values[name] = field.checked ? [...others, value] : others;
    } else if (value !== '' || field.dataset['optional'] === undefined) values[name] = value;
  }
  return values;
}

function isField(
  field: Element,
): field is HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement {
  return (
    field instanceof HTMLInputElement ||
    field instanceof HTMLSelectElement ||
    field instanceof HTMLTextAreaElement
  );
}
