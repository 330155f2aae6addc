/** A piece of the query's text: `start` inclusive, `end` exclusive, in UTF-16 units. */
export type Span = { start: number; end: number };

/**
 * One fault of a query, as its author sees it. Lines and columns count from 1, columns and `length`
 * in characters (code points).
 */
export type QueryFault = {
  message: string;
  line: number;
  column: number;
  length: number;
  piece: string;
  suggestion?: string;
};

/** A fault before its place in the text is known. */
export type LooseFault = { message: string; span: Span; suggestion?: string };

const piece_characters_max = 80;

/**
 * Thrown if the query cannot run as it is written. `faults` has one entry or more, in the order of
 * the text; the message lists them in sentences for a person. It only contains the query's own text
 * and words of the language's documentation.
 */
export class QueryError extends Error {
  readonly faults: [QueryFault, ...QueryFault[]];

  constructor(faults: [QueryFault, ...QueryFault[]]) {
    super(faults.map(sentence).join(' '));
    this.name = 'QueryError';
    this.faults = faults;
  }
}

/**
 * Returns the error for faults of a text: each gets its line, its column and its piece of the text.
 * It needs at least one fault.
 */
export function queryError(text: string, faults: LooseFault[]): QueryError {
  const located = faults
    .toSorted((one, other) => one.span.start - other.span.start)
    .map((fault) => locate(text, fault));
  const [first, ...others] = located;
  if (first === undefined) throw new RangeError('An error needs a fault.');
  return new QueryError([first, ...others]);
}

function locate(text: string, { message, span, suggestion }: LooseFault): QueryFault {
  const before = text.slice(0, span.start);
  const piece = text.slice(span.start, span.end);
  return {
    message,
    line: before.split('\n').length,
    column: countCharacters(before.slice(before.lastIndexOf('\n') + 1)) + 1,
    length: countCharacters(piece),
    piece: Array.from(piece.slice(0, 2 * piece_characters_max))
      .slice(0, piece_characters_max)
      .join(''),
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}

/**
 * Counts the code points of a text without a list of them, because each of many faults may follow a
 * long line.
 */
function countCharacters(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

function sentence({ line, column, message, suggestion }: QueryFault): string {
  return (
    `Line ${line}, column ${column}: ` +
    `${message}${suggestion === undefined ? '' : ` Did you mean \`${suggestion}\`?`}`
  );
}
