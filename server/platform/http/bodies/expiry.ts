import { isInstant } from '../../instant.ts';
import type { Violation } from '../errors.ts';

const day_ms = 24 * 3_600_000;

/** Returns the violation of an `expires_at` that is past, or more than `days_max` days from now. */
export function wrongExpiry(value: unknown, now_ms: number, days_max: number): Violation[] {
  if (typeof value !== 'string' || !isInstant(value)) return [];
  const ms = Date.parse(value);
  if (ms > now_ms && ms <= now_ms + days_max * day_ms) return [];
  const detail = `Must be in the future, and at most ${days_max} days from now.`;
  return [{ attr: 'expires_at', code: 'invalid_input', detail }];
}
