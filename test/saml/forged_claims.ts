import type { Forgery, SignInUnderWay } from './forgery.ts';
import { change } from './forgery.ts';
import {
  assertionXml,
  responseFacts,
  responseXml,
  signXml,
  signedResponse,
  xml_names,
} from './identity_provider.ts';
import type { ResponseFacts } from './identity_provider.ts';

const minute_ms = 60_000;
const soap = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress';

/** Signed by the right key, but with these facts in place of the genuine ones. */
const claiming =
  (facts: Partial<ResponseFacts> | ((world: SignInUnderWay) => Partial<ResponseFacts>)) =>
  (world: SignInUnderWay) =>
    signedResponse(world.acme, {
      ...world.facts,
      ...(typeof facts === 'function' ? facts(world) : facts),
    });
/** Signed by the right key, after this was changed in the assertion. */
const writing = (wanted: string | RegExp, replacement: string) => (world: SignInUnderWay) =>
  responseXml(
    world.facts,
    signXml(
      change(assertionXml(world.facts), wanted, replacement),
      world.facts.assertion_id,
      world.acme,
    ),
  );
const at = (offset_ms: number) => (world: SignInUnderWay) =>
  new Date(world.expectations.now_ms + offset_ms).toISOString();
const email = (value: string) => claiming({ attributes: { email: value } });

const parties: Forgery[] = [
  {
    name: 'no Issuer in the assertion',
    refused: 'issuer',
    make: ({ acme, facts }) =>
      signedResponse(acme, { ...facts, issuer: undefined }, { is_signature_first: true }),
  },
  {
    name: 'an empty Issuer in the assertion',
    refused: 'issuer',
    make: writing(/<saml:Issuer>.*?<\/saml:Issuer>/, '<saml:Issuer></saml:Issuer>'),
  },
  {
    name: 'another Issuer in the assertion',
    refused: 'issuer',
    make: claiming({ issuer: 'https://idp.other.example/metadata' }),
  },
  {
    name: 'an Issuer with more behind it',
    refused: 'issuer',
    make: claiming((world) => ({ issuer: `${world.acme.entity_id}/` })),
  },
  {
    name: 'another Issuer in the response',
    refused: 'issuer',
    make: claiming({ response_issuer: 'https://idp.other.example/metadata' }),
  },
  {
    name: 'an Issuer that is no entity',
    refused: 'issuer',
    make: writing('<saml:Issuer>', `<saml:Issuer Format="${xml_names.email_format}">`),
  },
  {
    name: "another tenant's provider with its own key and name",
    refused: 'issuer',
    make: ({ other, facts }) =>
      signedResponse(other, {
        ...facts,
        issuer: other.entity_id,
        response_issuer: other.entity_id,
      }),
  },
  {
    name: "another tenant's provider with its own key, the Response in our provider's name",
    refused: 'signature',
    make: ({ other, facts }) => signedResponse(other, { ...facts, issuer: other.entity_id }),
  },
  {
    name: "another tenant's provider in our provider's name",
    refused: 'signature',
    make: ({ other, evil }) => signedResponse(other, evil),
  },
  { name: 'no audience', refused: 'audience', make: claiming({ audience: undefined }) },
  {
    name: 'the audience of another service',
    refused: 'audience',
    make: claiming({ audience: 'https://other.example/' }),
  },
  {
    name: 'an audience in other letters',
    refused: 'audience',
    make: claiming((world) => ({ audience: world.service.entity_id.toUpperCase() })),
  },
  {
    name: 'an audience with more behind it',
    refused: 'audience',
    make: claiming((world) => ({ audience: `${world.service.entity_id}x` })),
  },
  {
    name: 'a second AudienceRestriction for another service',
    refused: 'audience',
    make: writing(
      '</saml:Conditions>',
      '<saml:AudienceRestriction><saml:Audience>https://other.example/</saml:Audience></saml:AudienceRestriction></saml:Conditions>',
    ),
  },
  { name: 'no Conditions', refused: 'audience', make: claiming({ conditions: '' }) },
  {
    name: 'Conditions twice',
    refused: 'library',
    make: writing('<saml:AuthnStatement', '<saml:Conditions/><saml:AuthnStatement'),
  },
  {
    name: 'a Condition that nobody knows',
    refused: 'conditions',
    make: writing('</saml:Conditions>', '<saml:Condition/></saml:Conditions>'),
  },
  {
    name: 'the Destination of another service',
    refused: 'destination',
    make: claiming({ destination: 'https://other.example/complete/saml/' }),
  },
  { name: 'an empty Destination', refused: 'destination', make: claiming({ destination: '' }) },
  {
    name: 'a Destination with a query',
    refused: 'destination',
    make: claiming((world) => ({ destination: `${world.service.acs_url}?x` })),
  },
  {
    name: 'a signed response without Destination',
    refused: 'destination',
    make: ({ acme, facts }) =>
      signedResponse(acme, { ...facts, destination: undefined }, { is_response_signed: true }),
  },
  { name: 'no Recipient', refused: 'recipient', make: claiming({ recipient: undefined }) },
  {
    name: 'the Recipient of another service',
    refused: 'recipient',
    make: claiming({ recipient: 'https://other.example/complete/saml/' }),
  },
  {
    name: 'a Recipient in http',
    refused: 'recipient',
    make: claiming((world) => ({ recipient: world.service.acs_url.replace('https', 'http') })),
  },
  {
    name: 'a second bearer confirmation for another service',
    refused: 'recipient',
    make: writing(
      '</saml:Subject>',
      `<saml:SubjectConfirmation Method="${xml_names.bearer}"><saml:SubjectConfirmationData ` +
        'Recipient="https://other.example/"/></saml:SubjectConfirmation></saml:Subject>',
    ),
  },
  {
    name: 'the response answers no request',
    refused: 'in_response_to',
    make: claiming({ in_response_to: undefined }),
  },
  {
    name: 'the response answers another request',
    refused: 'in_response_to',
    make: claiming({ in_response_to: '_another' }),
  },
  {
    name: 'the assertion answers no request',
    refused: 'in_response_to',
    make: claiming({ confirmed_in_response_to: undefined }),
  },
  {
    name: 'the assertion answers another request, the response ours',
    refused: 'in_response_to',
    make: claiming({ confirmed_in_response_to: '_another' }),
  },
  {
    name: 'a genuine assertion of an earlier sign-in in a response to this request',
    refused: 'in_response_to',
    make: ({ acme, facts, service, expectations }) => {
      const earlier = responseFacts(
        acme,
        { id: '_earlier', acs_url: service.acs_url, issuer: service.entity_id },
        { email: 'ada@acme.example' },
        expectations.now_ms,
      );
      return responseXml(facts, signXml(assertionXml(earlier), earlier.assertion_id, acme));
    },
  },
];

const subjects: Forgery[] = [
  {
    name: 'a status that is not Success',
    refused: 'status',
    make: claiming({ status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' }),
  },
  {
    name: 'a status that begins like Success',
    refused: 'status',
    make: claiming({ status: `${xml_names.success}x` }),
  },
  {
    name: 'no status',
    refused: 'status',
    make: (world) => change(world.response, /<samlp:Status>.*<\/samlp:Status>/, ''),
  },
  {
    name: 'Success below another status',
    refused: 'status',
    make: (world) =>
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
    make: claiming({ version: '1.1' }),
  },
  { name: 'no Subject', refused: 'subject', make: claiming({ subject: '' }) },
  { name: 'no NameID', refused: 'subject', make: writing(/<saml:NameID.*?<\/saml:NameID>/, '') },
  { name: 'an empty NameID', refused: 'subject', make: claiming({ name_id: ' ' }) },
  {
    name: 'a NameID of 513 characters',
    refused: 'subject',
    make: claiming({ name_id: 'a'.repeat(513) }),
  },
  {
    name: 'two NameIDs',
    refused: 'subject',
    make: writing('</saml:NameID>', '</saml:NameID><saml:NameID>root@acme.example</saml:NameID>'),
  },
  {
    name: 'an element in the NameID',
    refused: 'subject',
    make: writing('</saml:NameID>', '<saml:x/></saml:NameID>'),
  },
  {
    name: 'no confirmation',
    refused: 'subject',
    make: writing(/<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/, ''),
  },
  {
    name: 'a holder-of-key confirmation',
    refused: 'subject',
    make: writing('cm:bearer', 'cm:holder-of-key'),
  },
  {
    name: 'a sender-vouches confirmation',
    refused: 'subject',
    make: writing('cm:bearer', 'cm:sender-vouches'),
  },
  {
    name: 'no confirmation data',
    refused: 'subject',
    make: writing(/<saml:SubjectConfirmationData.*?\/>/, ''),
  },
  {
    name: 'a NotBefore in the confirmation',
    refused: 'subject',
    make: (world) =>
      writing(' Recipient=', ` NotBefore="${at(-minute_ms)(world)}" Recipient=`)(world),
  },
  {
    name: 'no AuthnStatement',
    refused: 'authentication_statement',
    make: claiming({ statements: '<saml:AttributeStatement/>' }),
  },
  {
    name: 'an AuthnStatement without AuthnInstant',
    refused: 'authentication_statement',
    make: writing(/ AuthnInstant="[^"]*"/, ''),
  },
  {
    name: 'an AuthnStatement without AuthnContext',
    refused: 'authentication_statement',
    make: writing(/<saml:AuthnContext>.*<\/saml:AuthnContext>/, ''),
  },
  {
    name: 'an attribute without a name',
    refused: 'not_a_response',
    make: writing(
      '</saml:AttributeStatement>',
      '<saml:Attribute ' +
        'NameFormat="urn:x"><saml:AttributeValue>x</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>',
    ),
  },
];

const instants: Forgery[] = [
  {
    name: 'the Conditions ended 3 minutes ago',
    refused: 'expired',
    make: claiming((world) => ({ not_on_or_after: at(-3 * minute_ms)(world) })),
  },
  {
    name: 'the Conditions ended a year ago',
    refused: 'expired',
    make: claiming({ not_on_or_after: '2020-01-01T00:00:00Z' }),
  },
  {
    name: 'the confirmation ended 3 minutes ago',
    refused: 'expired',
    make: claiming((world) => ({ confirmed_not_on_or_after: at(-3 * minute_ms)(world) })),
  },
  {
    name: 'the confirmation never ends',
    refused: 'library',
    make: claiming({ confirmed_not_on_or_after: undefined }),
  },
  {
    name: 'the session is over',
    refused: 'session_expired',
    make: claiming((world) => ({ session_not_on_or_after: at(-3 * minute_ms)(world) })),
  },
  {
    name: 'the Conditions begin after 3 minutes',
    refused: 'not_yet_valid',
    make: claiming((world) => ({ not_before: at(3 * minute_ms + 1)(world) })),
  },
  {
    name: 'issued after 3 minutes',
    refused: 'not_yet_valid',
    make: claiming((world) => ({ issued_at: at(3 * minute_ms + 1)(world) })),
  },
  {
    name: 'authenticated after 3 minutes',
    refused: 'not_yet_valid',
    make: (world) =>
      writing(/ AuthnInstant="[^"]*"/, ` AuthnInstant="${at(3 * minute_ms + 1)(world)}"`)(world),
  },
  {
    name: 'an end without a zone',
    refused: 'time_format',
    make: claiming({ not_on_or_after: '2099-01-01T00:00:00' }),
  },
  {
    name: 'an end on a day that does not exist',
    refused: 'time_format',
    make: claiming({ not_on_or_after: '2099-02-30T00:00:00Z' }),
  },
  {
    name: 'an end that is a year',
    refused: 'time_format',
    make: claiming({ not_on_or_after: '2099' }),
  },
  {
    name: 'an end that is no instant',
    refused: 'library',
    make: claiming({ confirmed_not_on_or_after: 'tomorrow' }),
  },
];

const addresses: Forgery[] = [
  {
    name: 'no e-mail address',
    refused: 'email_missing',
    make: claiming({ attributes: { first_name: 'Ada' }, name_id: 'ada', name_id_format: 'urn:x' }),
  },
  {
    name: 'an address in a NameID of no format',
    refused: 'email_missing',
    make: claiming({
      attributes: {},
      name_id_format: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
    }),
  },
  {
    name: 'two addresses in one attribute',
    refused: 'email_ambiguous',
    make: claiming({ attributes: { email: ['ada@acme.example', 'root@acme.example'] } }),
  },
  {
    name: 'two addresses in two attributes',
    refused: 'email_ambiguous',
    make: claiming({ attributes: { email: 'ada@acme.example', [soap]: 'root@acme.example' } }),
  },
  {
    name: 'two attributes of the same name',
    refused: 'email_ambiguous',
    make: writing(
      '</saml:AttributeStatement>',
      '<saml:Attribute ' +
        'Name="email"><saml:AttributeValue>root@acme.example</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>',
    ),
  },
  {
    name: 'an address of another domain',
    refused: 'email_domain',
    make: email('ada@other.example'),
  },
  {
    name: 'an address of a domain below ours',
    refused: 'email_domain',
    make: email('ada@mail.acme.example'),
  },
  {
    name: 'an address whose domain ends like ours',
    refused: 'email_domain',
    make: email('ada@evilacme.example'),
  },
  {
    name: 'an address of a domain that begins like ours',
    refused: 'email_domain',
    make: email('ada@acme.example.evil.example'),
  },
  {
    name: 'an address with two @',
    refused: 'email_invalid',
    make: email('ada@evil.example@acme.example'),
  },
  { name: 'an address without a name', refused: 'email_invalid', make: email('@acme.example') },
  {
    name: 'an address with a full-width @',
    refused: 'email_invalid',
    make: email('ada\uff20acme.example'),
  },
  {
    name: 'an address with a Kelvin sign for a k',
    refused: 'email_invalid',
    make: email('\u212aay@acme.example'),
  },
  {
    name: 'an address with a Cyrillic letter',
    refused: 'email_invalid',
    make: email('\u0430da@acme.example'),
  },
  {
    name: 'an address with a line break',
    refused: 'email_invalid',
    make: email('ada@acme.example\nroot@acme.example'),
  },
  {
    name: 'an address with a space in it',
    refused: 'email_invalid',
    make: email('ada @acme.example'),
  },
  {
    name: 'an address with a zero-width space',
    refused: 'email_invalid',
    make: email('ada\u200b@acme.example'),
  },
  {
    name: 'an address with a name around it',
    refused: 'email_invalid',
    make: email('Ada <ada@acme.example>'),
  },
  {
    name: 'two addresses in one value',
    refused: 'email_invalid',
    make: email('ada@acme.example,root@acme.example'),
  },
  {
    name: 'an address in quotes',
    refused: 'email_invalid',
    make: email('"root@acme.example"@acme.example'),
  },
  {
    name: 'an address of 255 characters',
    refused: 'email_invalid',
    make: email(`${'a'.repeat(242)}@acme.example`),
  },
];

/**
 * Responses that the right key signed, or that nobody looks at the key of, and that say something
 * that must not be believed here.
 */
export const forged_claims: Forgery[] = [...parties, ...subjects, ...instants, ...addresses];
