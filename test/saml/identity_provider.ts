import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { DOMParser } from '@xmldom/xmldom';
import { SignedXml } from 'xml-crypto';
import { root } from '../house/source_files.ts';

/**
 * An identity provider of the tests: its entity id, its address for answers, and the key pair with
 * which it signs.
 */
export type IdentityProvider = {
  entity_id: string;
  sso_url: string;
  certificate: string;
  private_key: string;
};

/**
 * The facts in a response. An undefined field is omitted from the XML. `subject`, `conditions`,
 * `statements` and `after_status` are XML that replaces the part made of the other fields, or is
 * added.
 */
export type ResponseFacts = {
  response_id: string;
  assertion_id: string;
  in_response_to?: string;
  confirmed_in_response_to?: string;
  destination?: string;
  recipient?: string;
  response_issuer?: string;
  issuer?: string;
  audience?: string;
  status: string;
  version: string;
  issued_at: string;
  not_before?: string;
  not_on_or_after?: string;
  confirmed_not_on_or_after?: string;
  session_not_on_or_after?: string;
  name_id: string;
  name_id_format: string;
  attributes: Record<string, string | string[]>;
  subject?: string;
  conditions?: string;
  statements?: string;
  after_status: string;
};

/** The signature of an element; the defaults are those of identity providers. */
export type SigningOptions = {
  signature_algorithm?: string;
  digest_algorithm?: string;
  transforms?: string[];
  canonicalization?: string;
  key_info?: string;
  is_uri_empty?: boolean;
  is_signature_first?: boolean;
};

/** XML namespaces and algorithm names, for tests that write XML themselves. */
export const xml_names = {
  samlp: 'urn:oasis:names:tc:SAML:2.0:protocol',
  saml: 'urn:oasis:names:tc:SAML:2.0:assertion',
  ds: 'http://www.w3.org/2000/09/xmldsig#',
  enveloped: 'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  exclusive: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  rsa_sha256: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  sha256: 'http://www.w3.org/2001/04/xmlenc#sha256',
  success: 'urn:oasis:names:tc:SAML:2.0:status:Success',
  bearer: 'urn:oasis:names:tc:SAML:2.0:cm:bearer',
  email_format: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
};

const minute_ms = 60_000;

/** Returns the text of a file in test/certificates. */
export function readTestCertificate(name: string): string {
  return readFileSync(`${root}/test/certificates/${name}`, 'utf8');
}

/** An identity provider with its own key. */
export function testIdentityProvider(name: 'acme' | 'other'): IdentityProvider {
  return {
    entity_id: `https://idp.${name}.example/metadata`,
    sso_url: `https://idp.${name}.example/sso`,
    certificate: readTestCertificate(`saml_${name}.crt`),
    private_key: readTestCertificate(`saml_${name}.key`),
  };
}

/** Reads the provider's facts from the address that a browser was sent to. */
export function readLoginUrl(url: string) {
  const { searchParams } = new URL(url);
  const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest')!, 'base64')).toString();
  const request = new DOMParser().parseFromString(xml, 'text/xml').documentElement!;
  const issuer = request.getElementsByTagNameNS(xml_names.saml, 'Issuer')[0]!.textContent!;
  return {
    xml,
    id: request.getAttribute('ID')!,
    acs_url: request.getAttribute('AssertionConsumerServiceURL')!,
    issuer,
    relay_state: searchParams.get('RelayState'),
  };
}

/**
 * Returns the facts of a valid response: for this person, in answer to this request, valid for five
 * minutes.
 */
export function responseFacts(
  provider: IdentityProvider,
  request: { id: string; acs_url: string; issuer: string },
  person: { email: string; attributes?: ResponseFacts['attributes'] },
  now_ms: number,
): ResponseFacts {
  const at = (offset_ms: number) => new Date(now_ms + offset_ms).toISOString();
  return {
    response_id: `_response_${crypto.randomUUID()}`,
    assertion_id: `_assertion_${crypto.randomUUID()}`,
    in_response_to: request.id,
    confirmed_in_response_to: request.id,
    destination: request.acs_url,
    recipient: request.acs_url,
    response_issuer: provider.entity_id,
    issuer: provider.entity_id,
    audience: request.issuer,
    status: xml_names.success,
    version: '2.0',
    issued_at: at(0),
    not_before: at(-minute_ms),
    not_on_or_after: at(5 * minute_ms),
    confirmed_not_on_or_after: at(5 * minute_ms),
    session_not_on_or_after: at(480 * minute_ms),
    name_id: person.email,
    name_id_format: xml_names.email_format,
    attributes: person.attributes ?? {
      email: person.email,
      first_name: 'Ada',
      last_name: 'Lovelace',
    },
    after_status: '',
  };
}

/** Returns the assertion, unsigned. */
export function assertionXml(facts: ResponseFacts): string {
  const issuer =
    facts.issuer === undefined ? '' : `<saml:Issuer>${escapeXml(facts.issuer)}</saml:Issuer>`;
  const attributes =
    attribute('ID', facts.assertion_id) +
    attribute('Version', facts.version) +
    attribute('IssueInstant', facts.issued_at);
  return (
    `<saml:Assertion xmlns:saml="${xml_names.saml}"${attributes}>${issuer}` +
    (facts.subject ?? subjectXml(facts)) +
    (facts.conditions ?? conditionsXml(facts)) +
    `${facts.statements ?? statementsXml(facts)}</saml:Assertion>`
  );
}

/** Returns the response around the XML of an assertion, unsigned. */
export function responseXml(facts: ResponseFacts, assertion: string): string {
  const issuer =
    facts.response_issuer === undefined
      ? ''
      : '<saml:Issuer ' +
        `xmlns:saml="${xml_names.saml}">${escapeXml(facts.response_issuer)}</saml:Issuer>`;
  return (
    `<samlp:Response xmlns:samlp="${xml_names.samlp}"${attribute('ID', facts.response_id)} ` +
    `Version="2.0"${attribute('IssueInstant', facts.issued_at)}` +
    attribute('Destination', facts.destination) +
    `${attribute('InResponseTo', facts.in_response_to)}>${issuer}` +
    `<samlp:Status><samlp:StatusCode${attribute('Value', facts.status)}/></samlp:Status>` +
    `${facts.after_status}${assertion}</samlp:Response>`
  );
}

/** Returns a response with a signed assertion, itself signed on request. */
export function signedResponse(
  provider: IdentityProvider,
  facts: ResponseFacts,
  options: SigningOptions & { is_response_signed?: boolean } = {},
): string {
  const xml = responseXml(
    facts,
    signXml(assertionXml(facts), facts.assertion_id, provider, options),
  );
  return options.is_response_signed === true
    ? signXml(xml, facts.response_id, provider, options)
    : xml;
}

/**
 * Returns the XML with a signature of the element with this ID, enveloped in it after its Issuer.
 */
export function signXml(
  xml: string,
  id: string,
  provider: Pick<IdentityProvider, 'certificate' | 'private_key'>,
  options: SigningOptions = {},
): string {
  const element = `//*[@ID='${id}']`;
  const signer = new SignedXml({
    privateKey: provider.private_key,
    publicCert: provider.certificate,
    signatureAlgorithm: options.signature_algorithm ?? xml_names.rsa_sha256,
    canonicalizationAlgorithm: options.canonicalization ?? xml_names.exclusive,
    ...(options.key_info === undefined ? {} : { getKeyInfoContent: () => options.key_info! }),
  });
  if (options.signature_algorithm?.endsWith('hmac-sha1') === true) signer.enableHMAC();
  signer.addReference({
    xpath: element,
    digestAlgorithm: options.digest_algorithm ?? xml_names.sha256,
    transforms: options.transforms ?? [xml_names.enveloped, xml_names.exclusive],
    isEmptyUri: options.is_uri_empty === true,
  });
  signer.computeSignature(xml, {
    prefix: 'ds',
    location:
      options.is_signature_first === true
        ? { reference: element, action: 'prepend' }
        : { reference: `${element}/*[local-name()='Issuer']`, action: 'after' },
  });
  return signer.getSignedXml();
}

/** Returns the text in the form's encoding. */
export function encodeResponse(xml: string): string {
  return Buffer.from(xml).toString('base64');
}

function subjectXml(facts: ResponseFacts): string {
  const confirmed =
    attribute('InResponseTo', facts.confirmed_in_response_to) +
    attribute('Recipient', facts.recipient) +
    attribute('NotOnOrAfter', facts.confirmed_not_on_or_after);
  return (
    `<saml:Subject><saml:NameID${attribute('Format', facts.name_id_format)}>` +
    `${escapeXml(facts.name_id)}</saml:NameID>` +
    `<saml:SubjectConfirmation Method="${xml_names.bearer}">` +
    `<saml:SubjectConfirmationData${confirmed}/></saml:SubjectConfirmation></saml:Subject>`
  );
}

function conditionsXml(facts: ResponseFacts): string {
  const restriction =
    facts.audience === undefined
      ? ''
      : `<saml:AudienceRestriction><saml:Audience>${escapeXml(facts.audience)}</saml:Audience>` +
        '</saml:AudienceRestriction>';
  const span =
    attribute('NotBefore', facts.not_before) + attribute('NotOnOrAfter', facts.not_on_or_after);
  return `<saml:Conditions${span}>${restriction}</saml:Conditions>`;
}

function statementsXml(facts: ResponseFacts): string {
  return (
    `<saml:AuthnStatement${attribute('AuthnInstant', facts.issued_at)}` +
    `${attribute('SessionNotOnOrAfter', facts.session_not_on_or_after)}><saml:AuthnContext>` +
    '<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password' +
    '</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>' +
    attributeStatementXml(facts.attributes)
  );
}

function attributeStatementXml(attributes: ResponseFacts['attributes']): string {
  const list = Object.entries(attributes).map(
    ([name, values]) =>
      `<saml:Attribute${attribute('Name', name)}>${[values]
        .flat()
        .map((value) => `<saml:AttributeValue>${escapeXml(value)}</saml:AttributeValue>`)
        .join('')}</saml:Attribute>`,
  );
  return list.length === 0
    ? ''
    : `<saml:AttributeStatement>${list.join('')}</saml:AttributeStatement>`;
}

function attribute(name: string, value: string | undefined): string {
  return value === undefined ? '' : ` ${name}="${escapeXml(value)}"`;
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
