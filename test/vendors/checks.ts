import type { VendorCheck, VendorRoute } from './description.ts';
import { fill, valueAt } from './template.ts';

/** A vendor's words for an event that breaks a rule. */
export type Faulty = {
  message: string;
  code: string | number | undefined;
  field: string;
  value: unknown;
};

const day_ms = 86_400_000;
const units = { seconds: 1_000, milliseconds: 1, microseconds: 0.001 };

/** Returns the rules that an event breaks. */
export function faultsOf({ checks = [] }: VendorRoute, event: unknown): Faulty[] {
  return checks
    .filter((check) => !holds(check, event))
    .map(({ message, code, path = '' }) => ({
      message: String(fill(message, { value: valueAt(event, path) })),
      code,
      field: path,
      value: valueAt(event, path),
    }));
}

function holds(check: VendorCheck, event: unknown): boolean {
  if (check.any_of !== undefined) return check.any_of.some((path) => isThere(valueAt(event, path)));
  const value = valueAt(event, check.path!);
  if (!isThere(value)) return check.required !== true;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const { pattern, length_max = Infinity, length_min = 0, days_max } = check;
  if (pattern !== undefined && !new RegExp(pattern).test(text)) return false;
  if (text.length > length_max || text.length < length_min) return false;
  return days_max === undefined || Date.now() - timeOf(value, check) <= days_max * day_ms;
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function timeOf(value: unknown, { unit = 'text' }: VendorCheck): number {
  return unit === 'text' ? Date.parse(String(value)) : Number(value) * units[unit];
}
