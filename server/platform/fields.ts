/** A JSON object, with the names of its fields as they came. */
export type Fields = Record<string, unknown>;

/** True for a JSON object: no list, and not null. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields that have a value: undefined is none. */
export function withoutUndefined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
