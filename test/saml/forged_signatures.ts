import { forged_algorithms } from './forged_algorithms.ts';
import { forged_references } from './forged_references.ts';
import {
  behindIssuer,
  change,
  changed,
  evilAssertion,
  signatureOf,
  withoutSignature,
} from './forgery.ts';
import type { Forgery } from './forgery.ts';
import { assertionXml, responseXml, signXml, signedResponse } from './identity_provider.ts';

const certificateInfo = (certificate: string) =>
  `<ds:X509Data><ds:X509Certificate>${certificate.replaceAll(/-----[A-Z ]+-----|\s/g, '')}` +
  '</ds:X509Certificate></ds:X509Data>';

/**
 * Responses that are not signed, signed with other keys or in other ways, or changed after they
 * were signed.
 */
export const forged_signatures: Forgery[] = [
  {
    name: 'nothing is signed',
    refused: 'unsigned',
    create: (world) => responseXml(world.facts, assertionXml(world.facts)),
  },
  {
    name: 'the signature was taken out',
    refused: 'unsigned',
    create: (world) => withoutSignature(world.response),
  },
  {
    name: 'only the response is signed',
    refused: 'unsigned',
    create: (world) =>
      signXml(
        responseXml(world.facts, assertionXml(world.facts)),
        world.facts.response_id,
        world.acme,
      ),
  },
  {
    name: 'the signature of the assertion was taken out of the response that is signed too',
    refused: 'unsigned',
    create: (world) =>
      change(
        world.signed_response,
        world.signed_response
          .split(signatureOf(world.signed_response))[1]!
          .match(/<ds:Signature [\s\S]*?<\/ds:Signature>/)![0],
        '',
      ),
  },
  {
    name: 'signed with the key of another provider',
    refused: 'signature',
    create: (world) => signedResponse(world.other, world.facts),
  },
  {
    name: 'signed with another key whose certificate is in KeyInfo',
    refused: 'signature',
    create: (world) =>
      signedResponse(world.other, world.evil, {
        key_info: certificateInfo(world.other.certificate),
      }),
  },
  {
    name: 'signed with another key, the right certificate in KeyInfo',
    refused: 'signature',
    create: (world) =>
      signedResponse(world.other, world.evil, {
        key_info: certificateInfo(world.acme.certificate),
      }),
  },
  {
    name: 'the assertion signed with the right key, the response with another',
    refused: 'signature',
    create: (world) => signXml(world.response, world.facts.response_id, world.other),
  },
  {
    name: 'the response signed with the right key, the assertion with another',
    refused: 'signature',
    create: (world) =>
      signXml(signedResponse(world.other, world.evil), world.evil.response_id, world.acme),
  },
  {
    name: 'the response that is signed too, with another Destination written in',
    refused: 'destination',
    create: (world) =>
      change(world.signed_response, /Destination="[^"]*"/, 'Destination="https://evil.example/"'),
  },
  {
    name: 'the response that is signed too, with its IssueInstant changed',
    refused: 'signature',
    create: (world) =>
      change(world.signed_response, /IssueInstant="[^"]*"/, 'IssueInstant="2030-01-01T00:00:00Z"'),
  },
  {
    name: 'the NameID was changed',
    refused: 'signature',
    create: changed('ada@acme.example</saml:NameID>', 'root@acme.example</saml:NameID>'),
  },
  {
    name: 'the e-mail attribute was changed',
    refused: 'signature',
    create: changed('<saml:AttributeValue>ada@', '<saml:AttributeValue>root@'),
  },
  {
    name: 'an attribute was added',
    refused: 'signature',
    create: changed(
      '</saml:AttributeStatement>',
      '<saml:Attribute Name="mail"/></saml:AttributeStatement>',
    ),
  },
  {
    name: 'the ID of the assertion was changed with its Reference',
    refused: 'signature',
    create: (world) => world.response.replaceAll(world.facts.assertion_id, '_x'),
  },
  {
    name: 'the audience was changed',
    refused: 'signature',
    create: changed('<saml:Audience>', '<saml:Audience>https://evil.example/'),
  },
  {
    name: 'the end was moved',
    refused: 'signature',
    create: changed(/ NotOnOrAfter="[^"]*"/, ' NotOnOrAfter="2099-01-01T00:00:00Z"'),
  },
  {
    name: 'the genuine signature in an evil assertion',
    refused: 'signature_form',
    create: (world) =>
      responseXml(world.facts, behindIssuer(evilAssertion(world), signatureOf(world.assertion))),
  },
  {
    name: 'the genuine signature in an evil assertion with the same ID',
    refused: 'signature',
    create: (world) =>
      responseXml(
        world.facts,
        behindIssuer(
          assertionXml({ ...world.evil, assertion_id: world.facts.assertion_id }),
          signatureOf(world.assertion),
        ),
      ),
  },
  {
    name: 'the signature value is of zeros',
    refused: 'signature',
    create: changed(/<ds:SignatureValue>[^<]*/, `<ds:SignatureValue>${'A'.repeat(342)}==`),
  },
  {
    name: 'the signature value is empty',
    refused: 'signature',
    create: changed(/<ds:SignatureValue>[^<]*/, '<ds:SignatureValue>'),
  },
  {
    name: 'the digest is of something else',
    refused: 'signature',
    create: changed(/<ds:DigestValue>[^<]*/, `<ds:DigestValue>${'A'.repeat(43)}=`),
  },
  {
    name: 'the digest is empty',
    refused: 'library',
    create: changed(/<ds:DigestValue>[^<]*/, '<ds:DigestValue>'),
  },
  {
    name: 'a second DigestValue',
    refused: 'signature_form',
    create: (world) =>
      change(
        world.response,
        '</ds:DigestValue>',
        `</ds:DigestValue>${/<ds:DigestValue>.*?<\/ds:DigestValue>/.exec(world.response)![0]}`,
      ),
  },
  ...forged_algorithms,
  ...forged_references,
];
