import type { Span } from './query_error.ts';

/**
 * Thrown inside the language where one fault is found; `compileQuery` and `parseQuery` turn it into
 * a `QueryError` with line and column.
 */
export class Fault extends Error {
  readonly span: Span;
  readonly suggestion: string | undefined;

  /**
   * @param message a sentence that says what to do @param suggestion what was probably meant,
   * spelled as it is to be written
   */
  constructor(message: string, span: Span, suggestion?: string) {
    super(message);
    this.name = 'Fault';
    this.span = { start: span.start, end: span.end };
    this.suggestion = suggestion;
  }
}

/** A fault that ends the reading of the whole query: what stands behind it is not looked at. */
export class FinalFault extends Fault {}
