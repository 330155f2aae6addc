import { KnownError, NonRetryableError, RetryableError } from './errors.ts';

/**
 * A known fault: whether a retry may help, its code in docs/errors.md, and the message for the
 * user, in which `%` stands for the other side's words.
 */
export type Fault = {
  retryable: boolean;
  code: string;
  message: string;
  /** See `KnownError`. */
  is_of_row?: true;
};

const said_characters_max = 300;

/** Returns a fault that only a change can fix. */
export function lasting(code: string, message: string): Fault {
  return { retryable: false, code, message };
}

/** Returns a lasting fault that the content of rows causes. */
export function ofRow(code: string, message: string): Fault {
  return { ...lasting(code, message), is_of_row: true };
}

/** Returns a fault that a retry may overcome. */
export function passing(code: string, message: string): Fault {
  return { retryable: true, code, message };
}

/**
 * Sentences of the outbound guard and the operator's proxy, by code. Clients copy both into their
 * own errors.
 */
const barriers: Record<string, Fault> = {
  outbound_refused: lasting('outbound_refused', '%.'),
  proxy_refused: lasting('proxy_refused', '%.'),
  proxy_failed: passing('proxy_failed', '%.'),
};

/**
 * Returns the error of a fault. It quotes the other side on one line, clipped, without the full
 * stop.
 */
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
 * Turns an error into one that tells the user what to do. `find` returns its fault, with the
 * server's words if they differ from the error's message. Returns other errors unchanged: those
 * that already say what to do, and those without a matching fault (mostly errors of the source).
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

/** Runs `work` and throws the error that `explained` returns. */
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

/** Returns the error and its causes, outermost first; clients hide the system's own. */
export function causesOf(error: Error): Error[] {
  const causes = [error];
  for (let { cause } = error; cause instanceof Error && causes.length < 8; { cause } = cause)
    causes.push(cause);
  return causes;
}

/** Returns the error code that the system or a client set, or undefined. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}
