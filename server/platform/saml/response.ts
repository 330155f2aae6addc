import { readAssertion } from './assertion.ts';
import type { Expectations } from './assertion.ts';
import { parseStrictly, readDocument } from './document.ts';
import { getIdentifier, isNamed } from './elements.ts';
import { readEnvelope } from './envelope.ts';
import { readVerifiedAssertion } from './library.ts';
import type { Provider, Service } from './parties.ts';
import { readAttributes, readEmail, readNames } from './person.ts';
import { refusalOf, refuse } from './refusal.ts';
import type { Refusal } from './refusal.ts';
import { checkSignatureForm } from './signature.ts';

/**
 * The person who signed in, according to the provider. `email` is lower-case ASCII in the
 * provider's domain; `name_id` and `attributes` are the provider's text, unchanged. Instants in
 * milliseconds.
 */
export type SignIn = {
  assertion_id: string;
  name_id: string;
  email: string;
  first_name?: string;
  last_name?: string;
  attributes: Record<string, string[]>;
  not_on_or_after_ms: number;
  session_not_on_or_after_ms: number | undefined;
};

/** The form that a browser posts. */
export type ResponseForm = { SAMLResponse: string };

/**
 * Reads a response to one of our requests. Guarantee of a sign-in: everything in it comes from
 * bytes that the provider signed, and all rules of docs/sign_in_refusals.md are met. **Not**
 * checked here: that a request and an assertion are used once. In one transaction, before it lets
 * anybody in, the caller uses up the request and stores (provider, `assertion_id`) uniquely until
 * `not_on_or_after_ms` plus the skew. A refusal is a value; only our own bugs throw.
 */
export async function readResponse(
  form: ResponseForm,
  provider: Provider,
  service: Service,
  expectations: Expectations,
): Promise<{ sign_in: SignIn } | Refusal> {
  try {
    const { text, root } = readDocument(form.SAMLResponse);
    const { response, assertion, response_signature, assertion_signature } = readEnvelope(
      root,
      provider,
      service,
      expectations.request_id,
    );
    checkSignatureForm(assertion, assertion_signature);
    if (response_signature !== undefined) checkSignatureForm(response, response_signature);
    const verified = parseStrictly(
      await readVerifiedAssertion(text, response_signature !== undefined, provider, service),
    );
    const facts = readAssertion(verified, provider, service, expectations);
    const { attribute_statements, name_id_format: _, ...signed } = facts;
    const attributes = readAttributes(attribute_statements);
    const email = readEmail(attributes, facts, provider.email_domain);
    return {
      sign_in: {
        ...signed,
        email,
        ...readNames(attributes),
        attributes: Object.fromEntries(attributes),
      },
    };
  } catch (error) {
    return refusalOf(error);
  }
}

/**
 * Returns the id of the request that the response claims to answer, or why it cannot be read.
 * **Nothing is verified yet**: only use it to find the stored request, and with it the provider for
 * `readResponse`.
 */
export function peekRequestId(form: ResponseForm): { request_id: string } | Refusal {
  try {
    const { root } = readDocument(form.SAMLResponse);
    if (!isNamed(root, 'samlp:Response'))
      refuse('not_a_response', 'The document is not a SAML 2.0 Response.');
    return { request_id: getIdentifier(root, 'InResponseTo', 'in_response_to') };
  } catch (error) {
    return refusalOf(error);
  }
}
