import type { Element } from '@xmldom/xmldom';
import type { AssertionFacts } from './assertion.ts';
import { findAttribute, readChildren, readText } from './elements.ts';
import { quoted, refuse } from './refusal.ts';

const email_attributes = new Set([
  'email',
  'emailaddress',
  'mail',
  'user.email',
  'urn:mace:dir:attribute-def:mail',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'urn:oid:1.2.840.113549.1.9.1',
  'http://schemas.xmlsoap.org/claims/emailaddress',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
]);
const first_name_attributes = new Set([
  'first_name',
  'firstname',
  'given_name',
  'givenname',
  'user.firstname',
  'urn:mace:dir:attribute-def:givenname',
  'urn:oid:2.5.4.42',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/givenname',
]);
const last_name_attributes = new Set([
  'last_name',
  'lastname',
  'family_name',
  'sn',
  'surname',
  'user.lastname',
  'urn:mace:dir:attribute-def:sn',
  'urn:oid:2.5.4.4',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/surname',
]);
const email_format = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
const email_characters_max = 254;
const name_characters_max = 150;
// ASCII only: other letters can look like these or fold to them, and the address decides whose
// account it is.
const email_form =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;

/**
 * Returns the attributes by name, in the order of the assertion, with all their values of plain
 * text. XML values are omitted.
 */
export function readAttributes(statements: Element[]): Map<string, string[]> {
  const attributes = new Map<string, string[]>();
  for (const statement of statements) {
    for (const attribute of readChildren(statement, 'not_a_response', [], ['saml:Attribute'])[
      'saml:Attribute'
    ]) {
      const name =
        findAttribute(attribute, 'Name') ?? refuse('not_a_response', 'An Attribute has no Name.');
      const values = readChildren(attribute, 'not_a_response', [], ['saml:AttributeValue'])[
        'saml:AttributeValue'
      ];
      attributes.set(name, [
        ...(attributes.get(name) ?? []),
        ...values.flatMap((value) => readText(value) ?? []),
      ]);
    }
  }
  return attributes;
}

/**
 * Returns the person's e-mail address, in lower case: from the usual attributes, or else from a
 * NameID of that format. Guarantee: ASCII, one `@`, in exactly the given domain. Refused if the
 * attributes contain different addresses. Throws `ResponseRefused`.
 */
export function readEmail(
  attributes: Map<string, string[]>,
  facts: AssertionFacts,
  email_domain: string,
): string {
  const stated = listValues(attributes, email_attributes);
  const candidates =
    stated.length > 0 ? stated : facts.name_id_format === email_format ? [facts.name_id] : [];
  const [email, ...others] = new Set(candidates.map(readAddress));
  if (email === undefined)
    return refuse(
      'email_missing',
      'The response has no e-mail address. Send one as the attribute "email".',
    );
  if (others.length > 0)
    refuse('email_ambiguous', 'The response has several different e-mail addresses. Send one.');
  if (!email.endsWith(`@${email_domain}`))
    refuse(
      'email_domain',
      `The address ${quoted(email)} is not in the domain ${email_domain} of this identity ` +
        'provider.',
    );
  return email;
}

/** Returns the person's names from the attributes: one line each, at most 150 characters. */
export function readNames(attributes: Map<string, string[]>): {
  first_name?: string;
  last_name?: string;
} {
  const [first_name] = listValues(attributes, first_name_attributes);
  const [last_name] = listValues(attributes, last_name_attributes);
  return {
    ...(first_name === undefined ? {} : { first_name: cleanName(first_name) }),
    ...(last_name === undefined ? {} : { last_name: cleanName(last_name) }),
  };
}

function listValues(attributes: Map<string, string[]>, names: ReadonlySet<string>): string[] {
  return [...attributes].flatMap(([name, values]) =>
    names.has(name.toLowerCase()) ? values.filter((value) => value !== '') : [],
  );
}

/** Only lowers A to Z: `toLowerCase` converts the Kelvin sign to an ASCII k. */
function readAddress(text: string): string {
  const address = text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  if (address.length > email_characters_max || !email_form.test(address))
    return refuse('email_invalid', `The e-mail address ${quoted(text)} cannot be used.`);
  return address;
}

function cleanName(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').trim();
  // By characters, so that none is split.
  return [...line].slice(0, name_characters_max).join('');
}
