import { KnownError, NonRetryableError, RetryableError } from './errors.ts';

/**
 * A known fault: whether another attempt may get past it, its code of docs/errors.md, and what the
 * user is told, where `%` stands for what the other side said.
 */
export type Fault = {
  retryable: boolean;
  code: string;
  message: string;
  /** See `KnownError`. */
  is_of_row?: true;
};

const said_characters_max = 300;

/** A fault that only a change can mend. */
export function lasting(code: string, message: string): Fault {
  return { retryable: false, code, message };
}

/** A lasting fault of rows for what they are. */
export function ofRow(code: string, message: string): Fault {
  return { ...lasting(code, message), is_of_row: true };
}

/** A fault that another attempt may get past. */
export function passing(code: string, message: string): Fault {
  return { retryable: true, code, message };
}

/**
 * Sentences of the outbound guard and the operator's proxy, by their code: clients copy both into
 * errors of their own.
 */
const barriers: Record<string, Fault> = {
  outbound_refused: lasting('outbound_refused', '%.'),
  proxy_refused: lasting('proxy_refused', '%.'),
  proxy_failed: passing('proxy_failed', '%.'),
};

/** The error of a fault; what was said stands in it on one line, clipped, without its full stop. */
export function faultError(
  { retryable, code, message, is_of_row }: Fault,
  said = '',
  cause?: unknown,
): NonRetryableError | RetryableError {
  const line = said.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '');
  const clipped =
    line.length > said_characters_max ? `${line.slice(0, said_characters_max)} ...` : line;
  const text = message.replace('%', () => clipped);
  const error = new (retryable ? RetryableError : NonRetryableError)(code, text, { cause });
  return Object.assign(error, { is_of_row: is_of_row === true });
}

/**
 * Turns an error into one that says what to do. `find` returns its fault, with the server's words
 * if they are not the error's own message. An error that already says what to do, and one that fits
 * no fault (above all an error of the source), is returned unchanged.
 */
export function explain(
  error: unknown,
  find: (error: Error) => Fault | { fault: Fault; said: string } | undefined,
): unknown {
  if (!(error instanceof Error)) return error;
  if (error instanceof KnownError) return error;
  const barred = causesOf(error).find((cause) => Object.hasOwn(barriers, codeOf(cause) ?? ''));
  if (barred !== undefined) return faultError(barriers[codeOf(barred)!]!, barred.message, error);
  const found = find(error);
  if (found === undefined) return error;
  return 'fault' in found
    ? faultError(found.fault, found.said, error)
    : faultError(found, error.message, error);
}

/** Runs `work` and throws what `explained` makes of its error. */
export async function withFaults<Result>(
  explained: (error: unknown) => unknown,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw explained(error);
  }
}

/** The error itself and what caused it, outermost first; clients hide the system's own. */
export function causesOf(error: Error): Error[] {
  const causes = [error];
  for (let { cause } = error; cause instanceof Error && causes.length < 8; { cause } = cause)
    causes.push(cause);
  return causes;
}

/** The code of an error as the system and the clients set it, or undefined. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}
