import { forged_addresses } from './forged_addresses.ts';
import { forged_parties } from './forged_parties.ts';
import { change, claiming, writing } from './forgery.ts';
import type { Forgery, SignInUnderWay } from './forgery.ts';
import { xml_names } from './identity_provider.ts';

const minute_ms = 60_000;
const at = (offset_ms: number) => (world: SignInUnderWay) =>
  new Date(world.expectations.now_ms + offset_ms).toISOString();

const subjects: Forgery[] = [
  {
    name: 'a status that is not Success',
    refused: 'status',
    create: claiming({ status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' }),
  },
  {
    name: 'a status that begins like Success',
    refused: 'status',
    create: claiming({ status: `${xml_names.success}x` }),
  },
  {
    name: 'no status',
    refused: 'status',
    create: (world) => change(world.response, /<samlp:Status>.*<\/samlp:Status>/, ''),
  },
  {
    name: 'Success below another status',
    refused: 'status',
    create: (world) =>
      change(
        world.response,
        /<samlp:StatusCode.*?\/>/,
        '<samlp:StatusCode Value="urn:x"><samlp:StatusCode ' +
          `Value="${xml_names.success}"/></samlp:StatusCode>`,
      ),
  },
  {
    name: 'an assertion of version 1.1',
    refused: 'not_a_response',
    create: claiming({ version: '1.1' }),
  },
  { name: 'no Subject', refused: 'subject', create: claiming({ subject: '' }) },
  { name: 'no NameID', refused: 'subject', create: writing(/<saml:NameID.*?<\/saml:NameID>/, '') },
  { name: 'an empty NameID', refused: 'subject', create: claiming({ name_id: ' ' }) },
  {
    name: 'a NameID of 513 characters',
    refused: 'subject',
    create: claiming({ name_id: 'a'.repeat(513) }),
  },
  {
    name: 'two NameIDs',
    refused: 'subject',
    create: writing('</saml:NameID>', '</saml:NameID><saml:NameID>root@acme.example</saml:NameID>'),
  },
  {
    name: 'an element in the NameID',
    refused: 'subject',
    create: writing('</saml:NameID>', '<saml:x/></saml:NameID>'),
  },
  {
    name: 'no confirmation',
    refused: 'subject',
    create: writing(/<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/, ''),
  },
  {
    name: 'a holder-of-key confirmation',
    refused: 'subject',
    create: writing('cm:bearer', 'cm:holder-of-key'),
  },
  {
    name: 'a sender-vouches confirmation',
    refused: 'subject',
    create: writing('cm:bearer', 'cm:sender-vouches'),
  },
  {
    name: 'no confirmation data',
    refused: 'subject',
    create: writing(/<saml:SubjectConfirmationData.*?\/>/, ''),
  },
  {
    name: 'a NotBefore in the confirmation',
    refused: 'subject',
    create: (world) =>
      writing(' Recipient=', ` NotBefore="${at(-minute_ms)(world)}" Recipient=`)(world),
  },
  {
    name: 'no AuthnStatement',
    refused: 'authentication_statement',
    create: claiming({ statements: '<saml:AttributeStatement/>' }),
  },
  {
    name: 'an AuthnStatement without AuthnInstant',
    refused: 'authentication_statement',
    create: writing(/ AuthnInstant="[^"]*"/, ''),
  },
  {
    name: 'an AuthnStatement without AuthnContext',
    refused: 'authentication_statement',
    create: writing(/<saml:AuthnContext>.*<\/saml:AuthnContext>/, ''),
  },
  {
    name: 'an attribute without a name',
    refused: 'not_a_response',
    create: writing(
      '</saml:AttributeStatement>',
      '<saml:Attribute NameFormat="urn:x"><saml:AttributeValue>x</saml:AttributeValue>' +
        '</saml:Attribute></saml:AttributeStatement>',
    ),
  },
];

const instants: Forgery[] = [
  {
    name: 'the Conditions ended 3 minutes ago',
    refused: 'expired',
    create: claiming((world) => ({ not_on_or_after: at(-3 * minute_ms)(world) })),
  },
  {
    name: 'the Conditions ended a year ago',
    refused: 'expired',
    create: claiming({ not_on_or_after: '2020-01-01T00:00:00Z' }),
  },
  {
    name: 'the confirmation ended 3 minutes ago',
    refused: 'expired',
    create: claiming((world) => ({ confirmed_not_on_or_after: at(-3 * minute_ms)(world) })),
  },
  {
    name: 'the confirmation never ends',
    refused: 'library',
    create: claiming({ confirmed_not_on_or_after: undefined }),
  },
  {
    name: 'the session is over',
    refused: 'session_expired',
    create: claiming((world) => ({ session_not_on_or_after: at(-3 * minute_ms)(world) })),
  },
  {
    name: 'the Conditions begin after 3 minutes',
    refused: 'not_yet_valid',
    create: claiming((world) => ({ not_before: at(3 * minute_ms + 1)(world) })),
  },
  {
    name: 'issued after 3 minutes',
    refused: 'not_yet_valid',
    create: claiming((world) => ({ issued_at: at(3 * minute_ms + 1)(world) })),
  },
  {
    name: 'authenticated after 3 minutes',
    refused: 'not_yet_valid',
    create: (world) =>
      writing(/ AuthnInstant="[^"]*"/, ` AuthnInstant="${at(3 * minute_ms + 1)(world)}"`)(world),
  },
  {
    name: 'an end without a zone',
    refused: 'time_format',
    create: claiming({ not_on_or_after: '2099-01-01T00:00:00' }),
  },
  {
    name: 'an end on a day that does not exist',
    refused: 'time_format',
    create: claiming({ not_on_or_after: '2099-02-30T00:00:00Z' }),
  },
  {
    name: 'an end that is a year',
    refused: 'time_format',
    create: claiming({ not_on_or_after: '2099' }),
  },
  {
    name: 'an end that is no instant',
    refused: 'library',
    create: claiming({ confirmed_not_on_or_after: 'tomorrow' }),
  },
];

/**
 * Responses with a claim that must be refused here. The right key signed them, or nobody checks the
 * key.
 */
export const forged_claims: Forgery[] = [
  ...forged_parties,
  ...subjects,
  ...instants,
  ...forged_addresses,
];
