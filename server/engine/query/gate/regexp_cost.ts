import { Fault } from '../fault.ts';
import type { KnownFunction } from '../functions/find.ts';
import { countPositions } from './pattern.ts';
import type { Span } from '../query_error.ts';

// One byte of a text can take a step for each position of the expression, and a call only ends
// after its texts. Both are bounded, so that one row takes some hundredths of a second.
const positions_max = 1_000;
const steps_max = 1_000_000;
// A function that finds every match may restart at each byte.
const scanning_positions_max = 100;
const scanned_bytes_max = 4_096;
/** A lambda is called for as many items as memory holds. */
const lambda_positions_max = 50;

/**
 * The argument that the function searches with a regular expression, and the most bytes of it to
 * read.
 */
export type Searched = { argument: number; bytes_max: number };

/**
 * Returns the part of its text that a function may read; undefined for one without a regular
 * expression. Throws a `Fault` if the expression is too large for its place.
 */
export function searchedBy(
  { definition, signatures }: KnownFunction,
  contents: unknown[],
  isInLambda: boolean,
  span: Span,
): Searched | undefined {
  const pattern = signatures[0]?.parameters.findIndex(({ form }) => form.name === '#pattern') ?? -1;
  if (pattern < 0) return undefined;
  const positions = countPositions(String(contents[pattern]));
  const isScan = definition.scans;
  const most = isInLambda ? lambda_positions_max : isScan ? scanning_positions_max : positions_max;
  if (positions > most)
    throw new Fault(
      `This regular expression has more than ${most} characters and classes, repeats such as ` +
        '{3} written out, which is the most ' +
        `${isInLambda ? 'inside a lambda' : `for \`${definition.name}\``}: shorten it.`,
      span,
    );
  return {
    argument: pattern === 0 ? 1 : 0,
    bytes_max: isScan ? scanned_bytes_max : Math.floor(steps_max / Math.max(1, positions)),
  };
}
