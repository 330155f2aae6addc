import type { Fields } from '../../platform/fields.ts';
import { joinSecrets } from './secret_values.ts';
import type { Wanted } from './wanted.ts';

/** The path of the object that a key refers to. */
export function pathOfReference(
  { parent_path }: Wanted,
  kind: string,
  within: 'project' | 'organization',
  key: string,
): string {
  const section = `${kind}s`;
  return within === 'project' ? `${parent_path}.${section}.${key}` : `${section}.${key}`;
}

/** The name in files of what a route calls `attr`. */
export function fieldOf(wanted: Wanted | undefined, attr: string): string {
  const reference = wanted?.kind.references.find(({ api_field }) => attr.startsWith(api_field));
  return reference === undefined ? attr : attr.replace(reference.api_field, reference.field);
}

/** The fields as the API takes them: ids for keys, and the values of secrets. */
export function bodyOf(wanted: Wanted, ids: ReadonlyMap<string, string>): Fields {
  const values = Object.entries(wanted.secrets).flatMap(([path, secret]) =>
    'value' in secret ? [[path, secret.value]] : [],
  );
  const fields = { ...joinSecrets(wanted.fields, Object.fromEntries(values) as Fields) };
  for (const { field, api_field, kind, within } of wanted.kind.references) {
    if (!Object.hasOwn(fields, field)) continue;
    const sent = fields[field];
    delete fields[field];
    const idOfKey = (key: unknown) => {
      if (typeof key !== 'string') return key;
      const id = ids.get(pathOfReference(wanted, kind, within, key)) ?? key;
      return /^\d+$/.test(id) ? Number(id) : id;
    };
    fields[api_field] = Array.isArray(sent)
      ? sent.map(idOfKey)
      : sent === null
        ? null
        : idOfKey(sent);
  }
  return fields;
}
