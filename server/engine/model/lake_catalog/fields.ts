import { isFields } from '../../../platform/fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import { badRequest } from './refusal.ts';

/** A whole number of 64 bits: `number` if that is exact, otherwise `bigint`. */
export type Long = number | bigint;

/** Returns true for the same whole number in either form. */
export function isSame(one: Long | null | undefined, other: Long | null | undefined): boolean {
  return (one ?? null) === null || (other ?? null) === null
    ? (one ?? null) === (other ?? null)
    : BigInt(one!) === BigInt(other!);
}

/** Returns the value as an object; throws 400 with its place. */
export function objectAt(value: unknown, place: string): Fields {
  if (!isFields(value)) throw badRequest(`${place} must be an object.`);
  return value;
}

/** Returns the field as an object; throws 400 otherwise. */
export function objectOf(fields: Fields, name: string): Fields {
  return objectAt(fields[name], name);
}

/** Returns the field as a non-empty text; throws 400 otherwise. */
export function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value === '') throw badRequest(`${name} must be a text.`);
  return value;
}

/** Returns the field as an exact whole number of at most 32 bits; throws 400 otherwise. */
export function intOf(fields: Fields, name: string): number {
  const value = fields[name];
  if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) > 2_147_483_647)
    throw badRequest(`${name} must be a whole number.`);
  return value;
}

/** Returns the field as an exact whole number of 64 bits; throws 400 otherwise. */
export function longOf(fields: Fields, name: string): Long {
  return longAt(fields[name], name);
}

/** Returns the value as an exact whole number of 64 bits; throws 400 with its place. */
export function longAt(value: unknown, place: string): Long {
  const is_long =
    typeof value === 'number' ? Number.isSafeInteger(value) : typeof value === 'bigint';
  if (!is_long || BigInt.asIntN(64, BigInt(value as Long)) !== BigInt(value as Long))
    throw badRequest(`${place} must be a whole number of 64 bits.`);
  return value as Long;
}

/** Returns the field as a list; throws 400 otherwise. */
export function listOf(fields: Fields, name: string): unknown[] {
  const value = fields[name];
  if (!Array.isArray(value)) throw badRequest(`${name} must be a list.`);
  return value;
}

/** Returns the value as texts by name; throws 400 with its place. */
export function textsAt(value: unknown, place: string): Record<string, string> {
  const fields = objectAt(value, place);
  for (const [name, text] of Object.entries(fields))
    if (typeof text !== 'string') throw badRequest(`${place}.${name} must be a text.`);
  return fields as Record<string, string>;
}

/** Returns the list as texts without repeats; throws 400 with its place. */
export function textListAt(value: unknown, place: string): string[] {
  if (!Array.isArray(value) || value.some((one) => typeof one !== 'string'))
    throw badRequest(`${place} must be a list of texts.`);
  return [...new Set(value as string[])];
}
