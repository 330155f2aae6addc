import type { Violation } from '../../../platform/http/errors.ts';

const earliest = Date.parse('0001-01-02T00:00:00Z');
// The week around an instant must have an end within the year 9999 as well.
const latest = Date.parse('9999-12-01T00:00:00Z');

/**
 * Violations of instants that, counted in UTC, lie outside of the years that the wire can spell.
 */
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
 * Violations of instants that are finer than a millisecond, which is the grain of the ledger: such
 * a bound would be moved in silence, and rows beside it left out or added.
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

/** The violation of a range that does not begin before it ends; none where a side is open. */
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

/** The instant in milliseconds; null stays null. */
export function milliseconds(text: string): number;
export function milliseconds(text: string | null): number | null;
export function milliseconds(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}
