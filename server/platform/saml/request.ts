import { openLibrary } from './library.ts';
import type { Provider, Service } from './parties.ts';

/** What goes into one request: an unguessable XML identifier, what the provider gives back unchanged, the name that it may show, whether it has to ask for the password again. */
export type LoginRequest = { id: string; relay_state?: string; service_name?: string; force_authentication?: boolean };

const relay_state_bytes_max = 80;

/**
 * The address to send the browser to: the provider's, with an AuthnRequest (HTTP-Redirect binding, deflated, unsigned) that asks for an e-mail address as the NameID and
 * for a response by POST to this service. The id has to be random (128 bits or more, a letter or `_` first) and be kept by the caller: the response names it.
 * Throws RangeError for a relay state of more than 80 bytes, which providers may cut.
 */
export async function makeLoginUrl(provider: Pick<Provider, 'certificates' | 'sso_url'>, service: Service, request: LoginRequest): Promise<string> {
  const { id, relay_state = '', service_name, force_authentication = false } = request;
  if (Buffer.byteLength(relay_state) > relay_state_bytes_max) throw new RangeError(`A relay state has at most ${relay_state_bytes_max} bytes.`);
  const library = openLibrary(provider, service, { generateUniqueId: () => id, forceAuthn: force_authentication, providerName: service_name });
  return library.getAuthorizeUrlAsync(relay_state, undefined, {});
}
