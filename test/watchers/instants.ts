import { Temporal } from 'temporal-polyfill';

/**
 * Returns true if the first instant of an answer is after the second one. Their texts compare
 * wrongly, because PostgreSQL omits trailing zeros.
 */
export function isLater(instant: string, other: string): boolean {
  return Temporal.Instant.compare(Temporal.Instant.from(instant), Temporal.Instant.from(other)) > 0;
}
