/**
 * Destinations repeat texts of servers. Characters that the control store cannot keep (NUL, half of
 * a surrogate pair) are replaced here, where all texts pass: a run whose fault cannot be stored
 * would never end.
 */
function storable(message: string): string {
  return message.toWellFormed().replaceAll('\0', '\ufffd');
}

/** A fault that is known: its message may be shown to users. */
export abstract class KnownError extends Error {
  readonly code: string;
  /**
   * True for an error of `commit` of which it is certain that nothing of the delivery is shown: the
   * commit was refused, or not even asked for.
   */
  is_certain = false;
  /** True where rows were refused for what they are: without them the others may go through. */
  is_of_row = false;
  /**
   * @param code short name from the closed list of docs/errors.md @param message a sentence that
   * the user can act on, without secrets
   */
  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(storable(message), options);
    this.code = code;
  }
}

/**
 * Thrown where it is known that another attempt cannot help: the user has to change something.
 * Everything else is retried.
 */
export class NonRetryableError extends KnownError {
  override readonly name = 'NonRetryableError';
}

/** Returns the error of a row that cannot be delivered for its content. */
export function rowError(code: string, message: string): NonRetryableError {
  return Object.assign(new NonRetryableError(code, message), { is_of_row: true });
}

/** Thrown for a known fault that another attempt may get past. */
export class RetryableError extends KnownError {
  override readonly name = 'RetryableError';
}

/**
 * Runs `work`, a commit, and marks its error as certain where nothing can be shown; `mayShow` is
 * asked when it has failed.
 */
export async function withCertainty<Result>(
  work: () => Promise<Result>,
  mayShow: () => boolean,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof KnownError && !mayShow()) error.is_certain = true;
    throw error;
  }
}
