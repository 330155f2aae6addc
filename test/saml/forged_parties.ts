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

/** Forgeries from another provider, for another service, or in answer to another request. */
export const forged_parties: Forgery[] = [
  {
    name: 'no Issuer in the assertion',
    refused: 'issuer',
    create: ({ acme, facts }) =>
      signedResponse(acme, { ...facts, issuer: undefined }, { is_signature_first: true }),
  },
  {
    name: 'an empty Issuer in the assertion',
    refused: 'issuer',
    create: writing(/<saml:Issuer>.*?<\/saml:Issuer>/, '<saml:Issuer></saml:Issuer>'),
  },
  {
    name: 'another Issuer in the assertion',
    refused: 'issuer',
    create: claiming({ issuer: 'https://idp.other.example/metadata' }),
  },
  {
    name: 'an Issuer with more behind it',
    refused: 'issuer',
    create: claiming((world) => ({ issuer: `${world.acme.entity_id}/` })),
  },
  {
    name: 'another Issuer in the response',
    refused: 'issuer',
    create: claiming({ response_issuer: 'https://idp.other.example/metadata' }),
  },
  {
    name: 'an Issuer that is no entity',
    refused: 'issuer',
    create: writing('<saml:Issuer>', `<saml:Issuer Format="${xml_names.email_format}">`),
  },
  {
    name: "another tenant's provider with its own key and name",
    refused: 'issuer',
    create: ({ other, facts }) =>
      signedResponse(other, {
        ...facts,
        issuer: other.entity_id,
        response_issuer: other.entity_id,
      }),
  },
  {
    name: "another tenant's provider with its own key, the Response in our provider's name",
    refused: 'signature',
    create: ({ other, facts }) => signedResponse(other, { ...facts, issuer: other.entity_id }),
  },
  {
    name: "another tenant's provider in our provider's name",
    refused: 'signature',
    create: ({ other, evil }) => signedResponse(other, evil),
  },
  { name: 'no audience', refused: 'audience', create: claiming({ audience: undefined }) },
  {
    name: 'the audience of another service',
    refused: 'audience',
    create: claiming({ audience: 'https://other.example/' }),
  },
  {
    name: 'an audience in other letters',
    refused: 'audience',
    create: claiming((world) => ({ audience: world.service.entity_id.toUpperCase() })),
  },
  {
    name: 'an audience with more behind it',
    refused: 'audience',
    create: claiming((world) => ({ audience: `${world.service.entity_id}x` })),
  },
  {
    name: 'a second AudienceRestriction for another service',
    refused: 'audience',
    create: writing(
      '</saml:Conditions>',
      '<saml:AudienceRestriction><saml:Audience>https://other.example/</saml:Audience>' +
        '</saml:AudienceRestriction></saml:Conditions>',
    ),
  },
  { name: 'no Conditions', refused: 'audience', create: claiming({ conditions: '' }) },
  {
    name: 'Conditions twice',
    refused: 'library',
    create: writing('<saml:AuthnStatement', '<saml:Conditions/><saml:AuthnStatement'),
  },
  {
    name: 'a Condition that nobody knows',
    refused: 'conditions',
    create: writing('</saml:Conditions>', '<saml:Condition/></saml:Conditions>'),
  },
  {
    name: 'the Destination of another service',
    refused: 'destination',
    create: claiming({ destination: 'https://other.example/complete/saml/' }),
  },
  { name: 'an empty Destination', refused: 'destination', create: claiming({ destination: '' }) },
  {
    name: 'a Destination with a query',
    refused: 'destination',
    create: claiming((world) => ({ destination: `${world.service.acs_url}?x` })),
  },
  {
    name: 'a signed response without Destination',
    refused: 'destination',
    create: ({ acme, facts }) =>
      signedResponse(acme, { ...facts, destination: undefined }, { is_response_signed: true }),
  },
  { name: 'no Recipient', refused: 'recipient', create: claiming({ recipient: undefined }) },
  {
    name: 'the Recipient of another service',
    refused: 'recipient',
    create: claiming({ recipient: 'https://other.example/complete/saml/' }),
  },
  {
    name: 'a Recipient in http',
    refused: 'recipient',
    create: claiming((world) => ({ recipient: world.service.acs_url.replace('https', 'http') })),
  },
  {
    name: 'a second bearer confirmation for another service',
    refused: 'recipient',
    create: writing(
      '</saml:Subject>',
      `<saml:SubjectConfirmation Method="${xml_names.bearer}"><saml:SubjectConfirmationData ` +
        'Recipient="https://other.example/"/></saml:SubjectConfirmation></saml:Subject>',
    ),
  },
  {
    name: 'the response answers no request',
    refused: 'in_response_to',
    create: claiming({ in_response_to: undefined }),
  },
  {
    name: 'the response answers another request',
    refused: 'in_response_to',
    create: claiming({ in_response_to: '_another' }),
  },
  {
    name: 'the assertion answers no request',
    refused: 'in_response_to',
    create: claiming({ confirmed_in_response_to: undefined }),
  },
  {
    name: 'the assertion answers another request, the response ours',
    refused: 'in_response_to',
    create: claiming({ confirmed_in_response_to: '_another' }),
  },
  {
    name: 'a genuine assertion of an earlier sign-in in a response to this request',
    refused: 'in_response_to',
    create: ({ acme, facts, service, expectations }) => {
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
