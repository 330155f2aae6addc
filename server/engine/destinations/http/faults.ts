import { byConnectionCode } from '../../../platform/outbound/connection_faults.ts';
import { NonRetryableError, RetryableError } from '../../destination/destination.ts';

type Fault = { retryable: boolean; code: string; message: string };

const final = (code: string, message: string): Fault => ({ retryable: false, code, message });
const passing = (code: string, message: string): Fault => ({ retryable: true, code, message });

const unverified = final(
  'tls_not_verified',
  'The certificate of the endpoint is not signed by an authority known here, or is for another host. Install a right one.',
);
const unreachable = passing(
  'connection_failed',
  'The endpoint does not answer at its address; check the key url.',
);
const broken = passing('connection_lost', 'The connection to the endpoint broke.');
const no_tls = final(
  'tls_not_offered',
  'The endpoint offers no TLS at this port; check the key url.',
);

/** By the error code of Node and undici. */
const faults = byConnectionCode({
  host_not_found: final('host_not_found', 'There is no host of this name; check the key url.'),
  lookup_failed: passing('connection_failed', 'The host name could not be looked up just now.'),
  unreachable,
  broken,
  timed_out: passing(
    'timed_out',
    'The endpoint did not answer in time. Check that it is well; if it needs longer, lower max_request_records.',
  ),
  tls_not_offered: no_tls,
  tls_not_verified: unverified,
});

/** By status; the others follow from their hundreds. */
const by_status: Record<number, Fault> = {
  401: final(
    'authentication_failed',
    'The endpoint refused the credentials; check the keys token and headers.',
  ),
  403: final(
    'permission_denied',
    'The endpoint does not let these credentials write; check the keys token and headers.',
  ),
  404: final('endpoint_missing', 'There is nothing at this address; check the key url.'),
  405: final('endpoint_missing', 'The address takes no POST; check the key url.'),
  408: passing(
    'timed_out',
    'The endpoint did not get the request in time. Lower max_request_records or max_request_size_mb if it comes again.',
  ),
  410: final('endpoint_missing', 'The address is out of use; change the key url.'),
  413: final(
    'request_too_large',
    'A request is larger than the endpoint takes; lower max_request_size_mb or max_request_records.',
  ),
  425: passing('throttled', 'The endpoint does not take the request yet.'),
  429: passing('throttled', 'The endpoint asks for fewer requests.'),
};

/** The error for an answer that is no success. `said` is a part of the answer's text without secrets, or empty. */
export function statusError(status: number, said: string): NonRetryableError | RetryableError {
  const fault = by_status[status] ?? faultOfHundred(status);
  const message = `${fault.message} It answered ${status}${said === '' ? '' : ` (${said})`}.`;
  return new (fault.retryable ? RetryableError : NonRetryableError)(fault.code, message);
}

function faultOfHundred(status: number): Fault {
  if (status >= 500) return passing('store_fault', 'The endpoint reported a fault of its own.');
  if (status >= 400)
    return final(
      'request_refused',
      'The endpoint refused the request as wrong; check url, body_format and compression.',
    );
  return final(
    'redirect_refused',
    'The endpoint redirects, and redirects are not followed; set url to the final address.',
  );
}

/** A fault of the way to the endpoint as an error that says what to do; every other error, above all the source's, stays as it is. */
export function httpError(error: unknown): unknown {
  if (
    !(error instanceof Error) ||
    error instanceof NonRetryableError ||
    error instanceof RetryableError
  )
    return error;
  if ((error as { code?: unknown }).code === 'outbound_refused')
    return new NonRetryableError('outbound_refused', error.message, { cause: error });
  // undici's fetch hides what happened in the cause of a TypeError.
  const code = codeOf(error) ?? codeOf(error.cause);
  const fault = code === undefined ? undefined : faults[code];
  if (fault !== undefined)
    return new (fault.retryable ? RetryableError : NonRetryableError)(fault.code, fault.message, {
      cause: error,
    });
  return error instanceof TypeError && error.message === 'fetch failed'
    ? new RetryableError(broken.code, broken.message, { cause: error })
    : error;
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
