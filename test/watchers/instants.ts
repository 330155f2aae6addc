import { Temporal } from 'temporal-polyfill';

/**
 * True when the first instant of an answer is after the second one. As texts they compare wrongly:
 * PostgreSQL leaves trailing zeros out.
 */
export function isLater(instant: string, other: string): boolean {
  return Temporal.Instant.compare(Temporal.Instant.from(instant), Temporal.Instant.from(other)) > 0;
}
