import { isJsonObject, isNumberText } from './exact_json.ts';

/** Longest type and longest key of a group, in characters. */
const type_length_max = 100;
const key_length_max = 300;

/** Why a `$groupidentify` event changes no group, or sets no property, with the sent value. */
export type GroupFault = { reason: 'group_ignored' | 'group_set_ignored'; sent: string };

/**
 * Checks the group of an event by the rules of the store (migrations/clickhouse/0074_groups.sql).
 * Type and key are texts or numbers, neither empty nor too long, without null characters. The type
 * has no colon.
 */
export function readGroupFault(
  event: string,
  { $group_type: type, $group_key: key, $group_set: set = {} }: Readonly<Record<string, unknown>>,
): GroupFault | undefined {
  if (event !== '$groupidentify') return undefined;
  if (!isName(type, type_length_max) || String(type).includes(':'))
    return { reason: 'group_ignored', sent: shown('$group_type', type) };
  if (!isName(key, key_length_max))
    return { reason: 'group_ignored', sent: shown('$group_key', key) };
  return isJsonObject(set)
    ? undefined
    : { reason: 'group_set_ignored', sent: shown('$group_set', set) };
}

function isName(value: unknown, length_max: number): boolean {
  if (typeof value === 'number' || isNumberText(value))
    return JSON.stringify(value).length <= length_max;
  if (typeof value !== 'string' || value === '' || value.includes('\0')) return false;
  // The store counts characters; a text of this many units has no more of them.
  return value.length <= length_max || [...value].length <= length_max;
}

function shown(name: string, value: unknown): string {
  return `${name}: ${value === undefined ? 'missing' : JSON.stringify(value)}`;
}
