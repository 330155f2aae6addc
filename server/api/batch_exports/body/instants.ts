import type { Violation } from '../../../platform/http/errors.ts';

const earliest = Date.parse('0001-01-02T00:00:00Z');
// The week around an instant must also end within the year 9999.
const latest = Date.parse('9999-12-01T00:00:00Z');

/** Returns the violations of instants outside the years that the wire format can express in UTC. */
export function instantViolations(fields: Record<string, string | null | undefined>): Violation[] {
  return Object.entries(fields).flatMap(([attr, text]) => {
    const at = text === null || text === undefined ? earliest : Date.parse(text);
    return at >= earliest && at <= latest
      ? []
      : [
          {
            attr,
            code: 'invalid_input' as const,
            detail: 'Must be between 0001-01-02 and 9999-12-01.',
          },
        ];
  });
}

/**
 * Returns the violations of instants finer than a millisecond, which is the resolution of the
 * ledger. Rounding such a bound would silently add or leave out rows.
 */
export function grainViolations(fields: Record<string, string | null>): Violation[] {
  return Object.entries(fields).flatMap(([attr, text]) =>
    text === null || !/\.\d{3}\d*[1-9]/.test(text)
      ? []
      : [
          {
            attr,
            code: 'invalid_input' as const,
            detail: 'Must be a whole millisecond: ranges have no finer bounds.',
          },
        ],
  );
}

/** Returns the violation of a range whose end is not after its start; none if a side is open. */
export function rangeViolations(
  start_at: string | null | undefined,
  end_at: string | null | undefined,
): Violation[] {
  if (
    start_at === null ||
    start_at === undefined ||
    end_at === null ||
    end_at === undefined ||
    Date.parse(start_at) < Date.parse(end_at)
  )
    return [];
  return [{ attr: 'end_at', code: 'invalid_input', detail: 'The end must be after the start.' }];
}

/** Returns the instant in milliseconds; null stays null. */
export function milliseconds(text: string): number;
export function milliseconds(text: string | null): number | null;
export function milliseconds(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}
