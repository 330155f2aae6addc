import { claiming, writing } from './forgery.ts';
import type { Forgery } from './forgery.ts';
import {
  assertionXml,
  responseFacts,
  responseXml,
  signXml,
  signedResponse,
  xml_names,
} from './identity_provider.ts';

/** Of another provider, for another service, or an answer to another request. */
export const forged_parties: Forgery[] = [
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
      '<saml:AudienceRestriction><saml:Audience>https://other.example/</saml:Audience>' +
        '</saml:AudienceRestriction></saml:Conditions>',
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
