import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { invalid } from '../../platform/http/errors.ts';

/** The host of this server's passkeys, and the address of its pages. */
export type RelyingParty = { id: string; origin: string };

/**
 * Returns the host to which browsers bind passkeys of a server at this address, and the origin of
 * its pages. Undefined if they support none: at an IP address, and without https on other machines.
 * A loopback address becomes `localhost`, which browsers accept.
 */
export function findRelyingParty(public_url: string): RelyingParty | undefined {
  const { protocol, hostname, port, origin } = new URL(public_url);
  const address = hostname.replaceAll(/[[\]]/g, '');
  if (isIP(address) !== 0)
    return address === '::1' || address.startsWith('127.')
      ? { id: 'localhost', origin: `${protocol}//localhost${port === '' ? '' : `:${port}`}` }
      : undefined;
  const is_secure =
    protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost');
  return is_secure ? { id: hostname, origin } : undefined;
}

/**
 * Returns the relying party for a page that will ask its browser for a passkey. Throws 400
 * `feature_not_available` with the remedy if browsers would refuse: the server's address does not
 * support passkeys, or the page was opened at another address.
 */
export function getRelyingParty({ server, headers }: FastifyRequest): RelyingParty {
  const { public_url } = server.context.config;
  const party = findRelyingParty(public_url);
  if (party === undefined)
    throw unavailable(
      `Browsers support passkeys only under a host name over https, and ${public_url} is not ` +
        'one. Ask the operator to set SLUICE_PUBLIC_URL to such an address.',
    );
  // Every browser sends this header with a POST.
  if (headers.origin !== undefined && headers.origin !== party.origin)
    throw unavailable(
      `Passkeys of this server only work at ${party.origin}: open that address, then try again.`,
    );
  return party;
}

function unavailable(detail: string) {
  return invalid(null, 'feature_not_available', detail);
}
