/**
 * Destinations repeat texts of servers. Replaces characters that the control store cannot keep
 * (NUL, half of a surrogate pair). Otherwise a run whose error cannot be stored would never end.
 */
function storable(message: string): string {
  return message.toWellFormed().replaceAll('\0', '\ufffd');
}

/** A known fault whose message may be shown to users. */
export abstract class KnownError extends Error {
  readonly code: string;
  /**
   * True for an error of `commit` if certainly nothing of the delivery is visible: the commit was
   * refused or never sent.
   */
  is_certain = false;
  /** True if the content of rows caused the refusal. The other rows may succeed. */
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
 * Thrown when another attempt cannot help and the user has to change something. Sluice retries all
 * other errors.
 */
export class NonRetryableError extends KnownError {
  override readonly name = 'NonRetryableError';
}

/** Returns the error for a row whose content cannot be delivered. */
export function rowError(code: string, message: string): NonRetryableError {
  return Object.assign(new NonRetryableError(code, message), { is_of_row: true });
}

/** Thrown for a known fault that a retry may overcome. */
export class RetryableError extends KnownError {
  override readonly name = 'RetryableError';
}

/**
 * Runs `work`, a commit, and marks its error as certain if nothing can be visible. After a failure
 * it calls `mayShow`.
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
