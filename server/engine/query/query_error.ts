/** A piece of the query's text: `start` inclusive, `end` exclusive, in UTF-16 units. */
export type Span = { start: number; end: number };

/**
 * One fault of a query, as it is shown to its author. Lines and columns count from 1, columns and
 * `length` in characters (code points).
 */
export type QueryFault = {
  message: string;
  line: number;
  column: number;
  length: number;
  piece: string;
  suggestion?: string;
};

/** A fault before it is known where in the text it lies. */
export type LooseFault = { message: string; span: Span; suggestion?: string };

const piece_characters_max = 80;

/**
 * The query cannot be run as it is written. `faults` has one entry or more, in the order of the
 * text; the message is all of them in sentences, for a person. Nothing in it comes from anywhere
 * but the query's own text and the documentation of the language.
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
 * The error for faults of a text: each gets its line, its column and the piece it is about. At
 * least one fault is needed.
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
 * The code points of a text; without a list of them, because each of many faults may lie behind a
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
