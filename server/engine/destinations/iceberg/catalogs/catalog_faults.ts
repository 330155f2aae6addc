import { byConnectionCode } from '../../../../platform/outbound/connection_faults.ts';
import type { KnownError } from '../../../model/destination/errors.ts';
import {
  codeOf,
  explain,
  faultError,
  lasting,
  passing,
} from '../../../model/destination/faults.ts';
import type { Fault } from '../../../model/destination/faults.ts';

const broken = passing(
  'connection_lost',
  'The connection to the catalog broke. If this happens again, check catalog_uri: a port with ' +
    'TLS needs https.',
);

/** By the error code of Node and undici. A lasting one means that no request was sent. */
const faults = byConnectionCode({
  host_not_found: lasting(
    'host_not_found',
    'There is no catalog at this host. Check catalog_uri (with Glue: region).',
  ),
  lookup_failed: passing(
    'connection_failed',
    "The catalog's host could not be looked up just now.",
  ),
  unreachable: passing(
    'connection_failed',
    'The catalog does not answer at its address. Check catalog_uri.',
  ),
  broken,
  timed_out: passing('timed_out', 'The catalog did not answer in time.'),
  tls_not_offered: lasting(
    'tls_not_offered',
    'The catalog offers no TLS at this port. Check catalog_uri.',
  ),
  tls_not_verified: lasting(
    'tls_not_verified',
    'The certificate of the catalog is not signed by an authority that this server trusts, or is ' +
      'for another host. Install a right one.',
  ),
  not_http: passing(
    'unexpected_answer',
    'The server at the address of the catalog does not speak HTTP. Check catalog_uri.',
  ),
});

/**
 * Translates a fault of the connection to the catalog into an error that says what to do; others
 * stay unchanged.
 */
export function wayError(error: unknown): unknown {
  return explain(error, (known) => {
    const fault = faults[codeOf(known) ?? codeOf(known.cause) ?? ''];
    const isUnknown = known instanceof TypeError && known.message === 'fetch failed';
    return fault ?? (isUnknown ? broken : undefined);
  });
}

const by_status: Record<number, Fault> = {
  401: lasting('authentication_failed', 'The catalog refused the token or the client.'),
  403: lasting('permission_denied', 'The catalog does not allow it'),
  404: lasting(
    'endpoint_missing',
    'There is no Iceberg catalog at this address. Check catalog_uri',
  ),
  419: lasting('authentication_failed', 'The token of the catalog has expired.'),
  429: passing('throttled', 'The catalog asks for fewer requests.'),
};

/** Words of AWS for a request whose signature it does not accept. */
const unsigned_words =
  /credential should be scoped|request signature|signature expired|security token|access key/i;
const unsigned = lasting(
  'authentication_failed',
  'AWS refused the signature. Check the access key and its secret or the role, the region and ' +
    'catalog_signing_name',
);

/** Returns the error for an answer that is no success; `said` is the catalog's message. */
export function statusError(status: number, said: string): KnownError {
  const is_unsigned = status === 403 && unsigned_words.test(said);
  const fault = is_unsigned ? unsigned : (by_status[status] ?? faultOfHundred(status));
  const message = `${fault.message.replace(/\.$/, '')}: it answered ${status}${
    said === '' ? '' : ` (${said})`
  }.`;
  return faultError({ ...fault, message });
}

function faultOfHundred(status: number): Fault {
  if (status >= 500) return passing('store_fault', 'The catalog reported a fault of its own');
  if (status >= 400) return lasting('request_refused', 'The catalog refused the request');
  return lasting(
    'redirect_refused',
    'The catalog redirects, and redirects are not followed. Set catalog_uri to the final address',
  );
}
