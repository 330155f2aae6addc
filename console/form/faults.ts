import type { Violation } from '../../server/platform/http/errors.ts';

/**
 * Returns the form's field for a violation: the named one, or the nearest parent
 * (`destination__config` for `destination__config__bucket`); undefined for the whole form.
 */
function fieldOf({ attr }: Violation, fields: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  for (const field of fields) {
    const holds = attr === field || attr?.startsWith(`${field}__`) === true;
    if (holds && field.length > (nearest?.length ?? -1)) nearest = field;
  }
  return nearest;
}

/** Returns the violations of fields that have not changed since. */
export function unchangedOf(
  violations: readonly Violation[],
  fields: Iterable<string>,
  changed: ReadonlySet<string>,
): readonly Violation[] {
  const names = [...fields];
  if (changed.size === 0) return violations;
  return violations.filter((violation) => {
    const field = fieldOf(violation, names);
    return field === undefined || !changed.has(field);
  });
}

/**
 * Returns the faults of the field, or of the whole form for undefined, as one text, without
 * repetitions; empty without a fault.
 */
export function faultOf(
  violations: readonly Violation[],
  fields: Iterable<string>,
  field: string | undefined,
  wordsOf = ({ detail }: Violation) => detail,
): string {
  const names = [...fields];
  const told = violations.filter((violation) => fieldOf(violation, names) === field).map(wordsOf);
  return [...new Set(told)].join(' ');
}

/** The API's text for an empty list. */
export const none_given = 'Must have at least 1 entry.';

/** Returns the text for a fault in a field with one entry per line: it names the entry. */
export function entryWords(field: string): (violation: Violation) => string {
  return ({ attr, detail }) => {
    const number = /^__(\d+)(?:__|$)/.exec(attr?.slice(field.length) ?? '')?.[1];
    if (number !== undefined) return `Entry ${Number(number) + 1}: ${detail}`;
    return detail === none_given ? 'Fill in at least one line.' : detail;
  };
}
