import type { Element } from '@xmldom/xmldom';
import {
  findAttribute,
  getIdentifier,
  isNamed,
  listElements,
  readChildren,
  readText,
} from './elements.ts';
import type { Provider, Service } from './parties.ts';
import { quoted, refuse } from './refusal.ts';

/**
 * The parts around the assertion. They are unverified and can only lead to a refusal.
 * `response_signature` is undefined if only the assertion is signed.
 */
export type Envelope = {
  response: Element;
  assertion: Element;
  response_signature: Element | undefined;
  assertion_signature: Element;
};

const success = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const entity_format = 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity';
const assertion_parts = [
  'saml:Subject',
  'saml:Conditions',
  'saml:Advice',
  'saml:Statement',
  'saml:AuthnStatement',
  'saml:AuthzDecisionStatement',
  'saml:AttributeStatement',
] as const;
const identifier_attributes = new Set(['id', 'assertionid', 'responseid', 'requestid']);

/**
 * Returns the parts of the response. Guarantee: the document has one Response, at the root, of
 * version 2.0 and with status Success. It is for this service's address, from this provider, and
 * answers the request. The whole document has exactly one Assertion, a child of the root. Each of
 * the two has at most one Signature, as a direct child, and no other element has one. Identifiers
 * are unique, and nothing is encrypted. Throws `ResponseRefused`.
 */
export function readEnvelope(
  root: Element,
  provider: Provider,
  service: Service,
  request_id: string,
): Envelope {
  if (!isNamed(root, 'samlp:Response'))
    refuse('not_a_response', 'The document is not a SAML 2.0 Response.');
  const elements = listElements(root);
  if (elements.some((element) => element.localName?.startsWith('Encrypted') === true))
    refuse(
      'encrypted',
      'The response is encrypted. Switch assertion encryption off at the identity provider; ' +
        'the connection itself is encrypted.',
    );
  checkIdentifiers(elements);
  const children = readChildren(
    root,
    'not_a_response',
    ['saml:Issuer', 'ds:Signature', 'samlp:Extensions', 'samlp:Status'],
    ['saml:Assertion'],
  );
  getIdentifier(root, 'ID', 'not_a_response');
  checkVersion(root);
  checkStatus(children['samlp:Status'][0]);
  const assertion = getOnlyAssertion(elements, children['saml:Assertion']);
  checkVersion(assertion);
  const [response_signature] = children['ds:Signature'];
  const [assertion_signature] = readChildren(
    assertion,
    'signature_form',
    ['saml:Issuer', 'ds:Signature'],
    assertion_parts,
  )['ds:Signature'];
  checkSignaturePlaces(elements, [response_signature, assertion_signature]);
  if (assertion_signature === undefined)
    return refuse(
      'unsigned',
      'The assertion has no signature of its own. Let the identity provider sign assertions, ' +
        'not only responses.',
    );
  checkDestination(root, service, response_signature !== undefined);
  const [issuer] = children['saml:Issuer'];
  if (issuer !== undefined) checkIssuer(issuer, provider);
  if (findAttribute(root, 'InResponseTo') !== request_id)
    refuse(
      'in_response_to',
      'The response does not answer the request that this sign-in began with.',
    );
  return { response: root, assertion, response_signature, assertion_signature };
}

/** Refuses an Issuer that is not the provider's entity id, character by character. */
export function checkIssuer(issuer: Element, provider: Provider): void {
  const name = readText(issuer);
  const format = findAttribute(issuer, 'Format');
  if (name !== provider.entity_id)
    refuse(
      'issuer',
      `The issuer is ${quoted(name ?? '')}, not the entity id of the configured identity provider.`,
    );
  if (format !== undefined && format !== entity_format)
    refuse('issuer', 'The Format of the Issuer is not that of an entity.');
}

/** Refuses a message of another version than 2.0. */
export function checkVersion(message: Element): void {
  if (findAttribute(message, 'Version') !== '2.0')
    refuse('not_a_response', `The ${message.localName} is not of SAML version 2.0.`);
}

/**
 * Signatures refer to identifiers, and parsers disagree on what an identifier is: values must be
 * unique over all usual spellings.
 */
function checkIdentifiers(elements: Element[]): void {
  const seen = new Set<string>();
  for (const attribute of elements.flatMap((element) => [...element.attributes])) {
    if (!identifier_attributes.has((attribute.localName ?? '').toLowerCase())) continue;
    if (seen.has(attribute.value))
      refuse(
        'duplicate_id',
        `The identifier ${quoted(attribute.value)} occurs twice in the response.`,
      );
    seen.add(attribute.value);
  }
}

function checkStatus(status: Element | undefined): void {
  const code =
    status === undefined
      ? undefined
      : readChildren(status, 'status', [
          'samlp:StatusCode',
          'samlp:StatusMessage',
          'samlp:StatusDetail',
        ])['samlp:StatusCode'][0];
  const value = code === undefined ? undefined : findAttribute(code, 'Value');
  if (value !== success)
    refuse(
      'status',
      `The identity provider did not sign the person in; its status is ${quoted(value ?? '')}.`,
    );
}

function getOnlyAssertion(elements: Element[], children: Element[]): Element {
  const count = elements.filter((element) => element.localName === 'Assertion').length;
  const [assertion] = children;
  if (count !== 1 || assertion === undefined)
    return refuse(
      'assertion_count',
      `The response holds ${count} assertions; exactly one is allowed, as a child of the Response.`,
    );
  return assertion;
}

function checkSignaturePlaces(elements: Element[], expected: (Element | undefined)[]): void {
  const misplaced = elements.filter(
    (element) => element.localName === 'Signature' && !expected.includes(element),
  );
  if (misplaced.length > 0)
    refuse(
      'signature_form',
      'The response has a Signature that is not a direct child of the Response or of the ' +
        'Assertion.',
    );
}

/**
 * SAML 2.0 Bindings, 3.5.5.2: a signed message must name its destination; an unsigned one may, and
 * then it must be this one.
 */
function checkDestination(response: Element, service: Service, is_signed: boolean): void {
  const destination = findAttribute(response, 'Destination');
  if (destination === undefined && !is_signed) return;
  if (destination !== service.acs_url)
    refuse(
      'destination',
      `The response was sent to ${quoted(destination ?? '')}, not to this service.`,
    );
}
