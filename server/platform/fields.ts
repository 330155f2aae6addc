/** A JSON object with its original field names. */
export type Fields = Record<string, unknown>;

/** Returns true for a JSON object: no list, and not null. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the fields whose value is not undefined. */
export function withoutUndefined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
