import { randomBytes } from 'node:crypto';
import { openLibrary } from './library.ts';
import type { Provider, Service } from './parties.ts';

/**
 * Options of a request besides the parties: the state that the provider returns unchanged, the name
 * that it may show, and whether it must ask for the password again.
 */
export type LoginOptions = {
  relay_state?: string;
  service_name?: string;
  force_authentication?: boolean;
};

const id_bytes = 20;
const relay_state_bytes_max = 80;

/**
 * Starts a sign-in. Returns the URL for the browser: the provider's with an AuthnRequest
 * (HTTP-Redirect binding, deflated, unsigned). The request asks for an e-mail address as the NameID
 * and for a response by POST to this service. Also returns the request's random id, which the
 * response must name, so the caller stores it. Throws RangeError for a relay state of more than 80
 * bytes, which providers may cut.
 */
export async function createLoginRequest(
  provider: Pick<Provider, 'certificates' | 'sso_url'>,
  service: Service,
  options: LoginOptions = {},
): Promise<{ url: string; request_id: string }> {
  const { relay_state = '', service_name, force_authentication = false } = options;
  if (Buffer.byteLength(relay_state) > relay_state_bytes_max)
    throw new RangeError(`A relay state has at most ${relay_state_bytes_max} bytes.`);
  const request_id = `_${randomBytes(id_bytes).toString('hex')}`;
  const library = openLibrary(provider, service, {
    generateUniqueId: () => request_id,
    forceAuthn: force_authentication,
    providerName: service_name,
  });
  return { url: await library.getAuthorizeUrlAsync(relay_state, undefined, {}), request_id };
}
