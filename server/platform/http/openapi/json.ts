/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
/** An object of JSON. */
export type JsonObject = { [name: string]: Json };

/** Returns true for an object of JSON: neither null nor a list. */
export function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
