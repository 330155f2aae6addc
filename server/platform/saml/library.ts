import { createRequire } from 'node:module';
import type * as NodeSaml from '@node-saml/node-saml';
import type { Provider, Service } from './parties.ts';
import { refuse } from './refusal.ts';

const require = createRequire(import.meta.url);

/** Returns the package, loaded on first use: it is large, and most servers never need it. */
export function nodeSaml(): typeof NodeSaml {
  return require('@node-saml/node-saml') as typeof NodeSaml;
}

/**
 * Opens node-saml for one provider. It writes requests and metadata and verifies signatures. It
 * checks neither times nor audience nor requests here, because it would use the wall clock and a
 * store in memory; `assertion.ts` has these rules.
 */
export function openLibrary(
  provider: Pick<Provider, 'certificates' | 'sso_url'>,
  service: Service,
  options: Partial<NodeSaml.SamlConfig>,
): NodeSaml.SAML {
  return new (nodeSaml().SAML)({
    entryPoint: provider.sso_url,
    idpCert: provider.certificates,
    issuer: service.entity_id,
    callbackUrl: service.acs_url,
    // Naming a sign-in method makes providers refuse people who used another one, such as a second
    // factor.
    disableRequestedAuthnContext: true,
    wantAssertionsSigned: true,
    acceptedClockSkewMs: -1,
    audience: false,
    ...options,
  });
}

/**
 * Returns the signed assertion: the library's text of the canonical bytes whose digest the
 * signature contains. Guarantee: the assertion's own signature, and the response's if it has one,
 * were made with the key of one of the provider's certificates. Throws `ResponseRefused`. The text
 * must have passed `readEnvelope` and `checkSignatureForm`.
 */
export async function readVerifiedAssertion(
  text: string,
  is_response_signed: boolean,
  provider: Provider,
  service: Service,
): Promise<string> {
  const library = openLibrary(provider, service, { wantAuthnResponseSigned: is_response_signed });
  try {
    const { profile } = await library.validatePostResponseAsync({
      SAMLResponse: Buffer.from(text).toString('base64'),
    });
    if (profile?.getAssertionXml !== undefined) return profile.getAssertionXml();
  } catch (error) {
    if (error instanceof Error && /^Invalid (document )?signature/.test(error.message))
      refuse(
        'signature',
        'No configured certificate of the identity provider verifies the signature. Compare ' +
          'the certificates, if the provider has a new one.',
      );
  }
  return refuse(
    'library',
    'The response could not be read. It lacks something that SAML 2.0 requires, such as a ' +
      'NotOnOrAfter.',
  );
}
