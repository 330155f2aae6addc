import type { Span } from './query_error.ts';

/**
 * Thrown inside the language for one fault; `compileQuery` and `parseQuery` convert it to a
 * `QueryError` with line and column.
 */
export class Fault extends Error {
  readonly span: Span;
  readonly suggestion: string | undefined;

  /**
   * @param message a sentence that says what to do @param suggestion what was probably meant,
   * the correct spelling
   */
  constructor(message: string, span: Span, suggestion?: string) {
    super(message);
    this.name = 'Fault';
    this.span = { start: span.start, end: span.end };
    this.suggestion = suggestion;
  }
}

/** A fault that stops the reading of the whole query: the text after it is not checked. */
export class FinalFault extends Fault {}
