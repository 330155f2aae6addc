import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { invalid } from '../../platform/http/errors.ts';

/** The host that the passkeys of this server belong to, and the address of its pages. */
export type RelyingParty = { id: string; origin: string };

/**
 * The host to which browsers bind passkeys of a server at this address, and the origin of its
 * pages; undefined where they offer none: at an IP address, and without https beyond the own
 * machine. A loopback address stands for `localhost`, which is the same server by a name.
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
 * The relying party for a page that is about to ask its browser for a passkey. Throws 400
 * `feature_not_available` with what to do where browsers would refuse: the server's address is none
 * for passkeys, or the page was opened under another one.
 */
export function getRelyingParty({ server, headers }: FastifyRequest): RelyingParty {
  const { public_url } = server.context.config;
  const party = findRelyingParty(public_url);
  if (party === undefined)
    throw unavailable(
      `Browsers support passkeys only under a host name over https, and ${public_url} is not ` +
        'one. Ask the operator to set SLUICE_PUBLIC_URL to such an address.',
    );
  // Every browser sends it with a POST.
  if (headers.origin !== undefined && headers.origin !== party.origin)
    throw unavailable(
      `Passkeys of this server work under ${party.origin} only: open it there, then try again.`,
    );
  return party;
}

function unavailable(detail: string) {
  return invalid(null, 'feature_not_available', detail);
}
