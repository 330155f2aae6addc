import { byConnectionCode } from '../../../platform/outbound/connection_faults.ts';
import { codeOf, explain, faultError, lasting, passing } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';

const unverified = lasting(
  'tls_not_verified',
  'The certificate of the endpoint is not signed by an authority that this server trusts, or is ' +
    'for another host. Install a right one.',
);
const unreachable = passing(
  'connection_failed',
  'The endpoint does not answer at its address; check the key url.',
);
const broken = passing(
  'connection_lost',
  'The connection to the endpoint broke. If this happens again, check the key url: a port with ' +
    'TLS needs https.',
);
const no_tls = lasting(
  'tls_not_offered',
  'The endpoint offers no TLS at this port; check the key url.',
);

/** By the error code of Node and undici. */
const faults = byConnectionCode({
  host_not_found: lasting('host_not_found', 'The host name cannot be resolved; check the key url.'),
  lookup_failed: passing(
    'connection_failed',
    'The host name could not be looked up at the moment.',
  ),
  unreachable,
  broken,
  timed_out: passing(
    'timed_out',
    'The endpoint did not answer in time. Check that it works; if it needs more time, lower ' +
      'max_request_records.',
  ),
  tls_not_offered: no_tls,
  tls_not_verified: unverified,
  not_http: passing(
    'unexpected_answer',
    'The server at this address does not speak HTTP; check the key url.',
  ),
});

/** By status; the others derive from their hundreds. */
const by_status: Record<number, Fault> = {
  401: lasting(
    'authentication_failed',
    'The endpoint refused the credentials; check the keys token and headers.',
  ),
  403: lasting(
    'permission_denied',
    'The endpoint does not let these credentials write; check the keys token and headers.',
  ),
  404: lasting('endpoint_missing', 'There is nothing at this address; check the key url.'),
  405: lasting('endpoint_missing', 'The address accepts no POST; check the key url.'),
  408: passing(
    'timed_out',
    'The endpoint did not get the request in time. Lower max_request_records or ' +
      'max_request_size_mb if this happens again.',
  ),
  410: lasting(
    'endpoint_missing',
    'The endpoint says that this address is gone; change the key url.',
  ),
  413: lasting(
    'request_too_large',
    'A request is larger than the endpoint accepts; lower max_request_size_mb or ' +
      'max_request_records.',
  ),
  425: passing('throttled', 'The endpoint does not accept the request yet.'),
  429: passing('throttled', 'The endpoint asks for fewer requests.'),
};

/**
 * Returns the error for an answer that is no success. `said` is a part of the answer's text without
 * secrets, or empty.
 */
export function statusError(status: number, said: string): Error {
  const fault = by_status[status] ?? faultOfHundred(status);
  const answered = `It answered ${status}${said === '' ? '' : ` (${said})`}.`;
  return faultError({ ...fault, message: `${fault.message} ${answered}` });
}

function faultOfHundred(status: number): Fault {
  if (status >= 500) return passing('store_fault', 'The endpoint reported an internal error.');
  if (status >= 400)
    return lasting(
      'request_refused',
      'The endpoint refused the request as wrong; check url, body_format and compression.',
    );
  return lasting(
    'redirect_refused',
    'The endpoint redirects, and redirects are not followed; set url to the final address.',
  );
}

/**
 * Translates a fault of the connection into an error that says what to do; others stay unchanged.
 */
export function httpError(error: unknown): unknown {
  return explain(error, (known) => {
    // undici's fetch hides the reason in the cause of a TypeError.
    const { cause } = known;
    const fault = faults[codeOf(known) ?? codeOf(cause) ?? nameOf(cause)];
    const isUnknown = known instanceof TypeError && known.message === 'fetch failed';
    return fault ?? (isUnknown ? broken : undefined);
  });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
