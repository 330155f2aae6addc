import { byConnectionCode } from '../../../platform/outbound/connection_faults.ts';
import { explain, lasting, passing, withFaults } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import type { ObjectStore } from './object_store.ts';

const unreachable = passing(
  'connection_failed',
  'The store does not answer at its address. Check the address (endpoint_url), and that ' +
    'firewalls let this server reach it.',
);
const broken = passing(
  'connection_lost',
  'The connection to the store broke or took too long. If this happens again, check ' +
    'endpoint_url: a port with TLS needs https.',
);
const no_tls = lasting(
  'tls_not_offered',
  'The store offers no TLS at this port. Check endpoint_url: its address may need to begin ' +
    'with http.',
);
const not_http = passing(
  'unexpected_answer',
  'The server at the address of the store does not speak HTTP; check endpoint_url.',
);
const certificate = lasting(
  'tls_not_verified',
  'The certificate of the store is not signed by an authority that this server trusts, or is ' +
    'for another host. Install a valid one.',
);

/** The fault of a store that throttles requests. */
export const throttled = passing(
  'throttled',
  'The store asks for fewer requests; the run continues automatically.',
);

/** Faults of the connection to a store, by the code or name of Node.js and the clients. */
const connection_faults: Record<string, Fault> = {
  AbortError: broken,
  TimeoutError: broken,
  ...byConnectionCode({
    host_not_found: lasting(
      'host_not_found',
      'The host name cannot be resolved; check the address of the store in the config.',
    ),
    lookup_failed: unreachable,
    unreachable,
    broken,
    timed_out: broken,
    tls_not_offered: no_tls,
    tls_not_verified: certificate,
    not_http,
  }),
};

const refused = lasting('request_refused', 'The store refused the request (%).');
const store_fault = passing('store_fault', 'The store reported an internal error (%).');

/** The fault of bytes that were damaged on their way. */
export const damaged = passing(
  'connection_lost',
  'Bytes were lost or changed on the way to the store (%); Sluice sends them again.',
);

/**
 * The facts of a client's error: names and codes, the most specific first, the HTTP status, if any,
 * and the store's message, or ''.
 */
export type ErrorFacts = { names: string[]; status: number | undefined; said: string };

/** A store's own faults: by name or code, and by HTTP status if no name matches. */
export type FaultTable = { by_name: Record<string, Fault>; by_status: Record<number, Fault> };

/**
 * Translates an error of a store's client into one that says what to do. The store's own names come
 * first, then those of the connection, then the status; an error without a match (mostly the
 * source's) is returned unchanged. The client's error is the cause.
 */
export function explainFault(
  error: unknown,
  table: FaultTable,
  read: (error: Error) => ErrorFacts,
): unknown {
  return explain(error, (known) => {
    const { names, status, said } = read(known);
    const fault =
      faultNamed(names, table.by_name) ??
      faultNamed(names, connection_faults) ??
      faultOfStatus(status, table.by_status);
    return fault && { fault, said: said === '' ? `HTTP ${status}` : said };
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
  if (status === 408) return broken;
  return faults[status] ?? (status === 429 ? throttled : status >= 500 ? store_fault : refused);
}

/** Runs `work` and throws its errors translated by the store. */
export function withStoreFaults<Result>(
  { faults }: ObjectStore,
  work: () => Promise<Result>,
): Promise<Result> {
  return withFaults((error) => faults.explain(error), work);
}

/** Returns the error for a successful answer without the store's content, such as a web page. */
export function strangeAnswerError(lacking: string): RetryableError {
  return new RetryableError(
    'unexpected_answer',
    `The server at this address is not an object store: its answer has no ${lacking}. Check ` +
      'endpoint_url.',
  );
}
