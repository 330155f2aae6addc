import type { Element } from '@xmldom/xmldom';
import { readCertificates } from './certificates.ts';
import { parseStrictly } from './document.ts';
import { findAttribute, isNamed, listChildren, listElements, readText } from './elements.ts';
import type { ElementName } from './elements.ts';
import { refusalOf } from './refusal.ts';

/** An identity provider from its metadata: its name, sign-on URL and certificates. */
export type ProviderFacts = { entity_id: string; sso_url: string; certificates: string };

/** The binding that this server uses to redirect people to a provider. */
const redirect_binding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';

const opening = /^\uFEFF?\s*(?:<\?xml\s[^?<>]{0,200}\?>)?/;

const details: Record<string, string> = {
  markup: 'The metadata has a DOCTYPE, a comment, a CDATA section or an entity. Remove it.',
  too_large: 'The metadata is too large. Paste the metadata of one identity provider.',
};
const not_xml =
  'This is not the XML of SAML metadata. Copy the whole file that your identity provider offers.';

/**
 * Reads the metadata of one identity provider under the rules of `parseStrictly`: no DOCTYPE, no
 * entities, bounded in size and depth. Its own signature is ignored: the person who pastes the text
 * vouches for it. If something is missing, returns a sentence without any part of the text.
 */
export function readProviderMetadata(text: string): ProviderFacts | { detail: string } {
  let root: Element;
  try {
    root = parseStrictly(text.trim().replaceAll(/\r\n?/g, '\n').replace(opening, ''));
  } catch (error) {
    return { detail: details[refusalOf(error).refused] ?? not_xml };
  }
  if (!isNamed(root, 'md:EntityDescriptor') && !isNamed(root, 'md:EntitiesDescriptor'))
    return { detail: not_xml };
  const providers = listElements(root).filter(
    (element) =>
      isNamed(element, 'md:EntityDescriptor') && named(element, 'md:IDPSSODescriptor').length > 0,
  );
  const [provider] = providers;
  if (provider === undefined)
    return {
      detail:
        'The metadata describes no identity provider. Take that of your provider, not that of ' +
        'this server.',
    };
  if (providers.length > 1)
    return { detail: 'The metadata describes several identity providers. Paste one of them.' };
  return factsOf(provider);
}

function factsOf(provider: Element): ProviderFacts | { detail: string } {
  const entity_id = findAttribute(provider, 'entityID')?.trim() ?? '';
  const roles = named(provider, 'md:IDPSSODescriptor');
  const sso_url = roles
    .flatMap((role) => named(role, 'md:SingleSignOnService'))
    .find((service) => findAttribute(service, 'Binding') === redirect_binding);
  const keys = roles
    .flatMap((role) => named(role, 'md:KeyDescriptor'))
    .filter((key) => (findAttribute(key, 'use') ?? 'signing') === 'signing')
    .flatMap((key) => listElements(key).filter((one) => isNamed(one, 'ds:X509Certificate')))
    .map((one) => `-----BEGIN CERTIFICATE-----\n${readText(one) ?? ''}\n-----END CERTIFICATE-----`);
  const location = (sso_url === undefined ? undefined : findAttribute(sso_url, 'Location')) ?? '';
  if (entity_id === '') return { detail: 'The metadata has no entity id.' };
  if (location === '')
    return {
      detail:
        'The metadata has no sign-on URL for HTTP-Redirect. Switch that binding on at your ' +
        'identity provider.',
    };
  if (keys.length === 0)
    return { detail: 'The metadata has no signing certificate. Create one at the provider.' };
  const read = readCertificates(keys.join('\n'));
  if ('detail' in read) return read;
  return {
    entity_id,
    sso_url: location.trim(),
    certificates: read.certificates.map(({ pem }) => pem.trim()).join('\n'),
  };
}

function named(element: Element, name: ElementName): Element[] {
  return listChildren(element).filter((child) => isNamed(child, name));
}
