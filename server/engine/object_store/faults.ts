import { byConnectionCode } from '../../platform/outbound/connection_faults.ts';
import { NonRetryableError, RetryableError } from '../destination/destination.ts';
import type { ObjectStore } from './object_store.ts';

/** A known fault of a store: whether another attempt may get past it, its code of docs/errors.md, and what the user is told. */
export type Fault = { retryable: boolean; code: string; message: string };

/** A fault that only a change can mend. */
export const lastingFault = (code: string, message: string): Fault => ({
  retryable: false,
  code,
  message,
});

/** A fault that another attempt may get past. */
export const passingFault = (code: string, message: string): Fault => ({
  retryable: true,
  code,
  message,
});

const unreachable = passingFault('connection_failed', 'The store does not answer at its address.');
const broken = passingFault(
  'connection_lost',
  'The connection to the store broke or took too long.',
);
const certificate = lastingFault(
  'tls_not_verified',
  "The certificate of the store's address is not signed by an authority known here, or is for another host.",
);

/** The fault of a store that asks for fewer requests. */
export const throttled = passingFault(
  'throttled',
  'The store asks for fewer requests; the run goes on by itself.',
);

/** Faults of the way to a store, by the code or name that Node.js and the clients give them. */
const connection_faults: Record<string, Fault> = {
  AbortError: broken,
  TimeoutError: broken,
  ...byConnectionCode({
    host_not_found: lastingFault(
      'host_not_found',
      'There is no host of this name; check the address of the store in the config.',
    ),
    lookup_failed: unreachable,
    unreachable,
    broken,
    timed_out: broken,
    tls_not_verified: certificate,
  }),
};

const refused = lastingFault('request_refused', 'The store refused the request.');
const store_fault = passingFault('store_fault', 'The store reported a fault of its own.');

/** What a client's error says of itself: names and codes, the most telling first, and the HTTP status, where the store gave one. */
export type ErrorFacts = { names: string[]; status: number | undefined };

/** What a store knows of its own faults: by name or code, and by HTTP status where no name tells. */
export type FaultTable = { by_name: Record<string, Fault>; by_status: Record<number, Fault> };

/**
 * An error of a store's client as one that says what to do. The store's own names come first, then those of the connection, then the status; an error that none of
 * them fits, above all the source's, is given back as it is. The client's error is the cause.
 */
export function explainFault(
  error: unknown,
  table: FaultTable,
  read: (error: Error) => ErrorFacts,
): unknown {
  if (
    !(error instanceof Error) ||
    error instanceof NonRetryableError ||
    error instanceof RetryableError
  )
    return error;
  const refusal = causesOf(error).find((cause) => codeOf(cause) === 'outbound_refused');
  if (refusal !== undefined)
    return new NonRetryableError('outbound_refused', refusal.message, { cause: error });
  const { names, status } = read(error);
  const fault =
    faultNamed(names, table.by_name) ??
    faultNamed(names, connection_faults) ??
    faultOfStatus(status, table.by_status);
  if (fault === undefined) return error;
  return new (fault.retryable ? RetryableError : NonRetryableError)(fault.code, fault.message, {
    cause: error,
  });
}

function faultNamed(names: string[], faults: Record<string, Fault>): Fault | undefined {
  const name = names.find((one) => Object.hasOwn(faults, one));
  return name === undefined ? undefined : faults[name];
}

function faultOfStatus(
  status: number | undefined,
  faults: Record<number, Fault>,
): Fault | undefined {
  if (status === undefined || status < 300) return undefined;
  return faults[status] ?? (status === 429 ? throttled : status >= 500 ? store_fault : refused);
}

/** The error itself and what caused it, outermost first; clients hide the system's error behind their own. */
export function causesOf(error: Error): Error[] {
  const causes = [error];
  for (let { cause } = error; cause instanceof Error && causes.length < 8; { cause } = cause)
    causes.push(cause);
  return causes;
}

/** The code of an error as the system and the clients set it, or undefined. */
export function codeOf(error: Error): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/** Runs `work` and throws what the store makes of its errors. */
export async function withStoreFaults<Result>(
  { faults }: ObjectStore,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw faults.explain(error);
  }
}
