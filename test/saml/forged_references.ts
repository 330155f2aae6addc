import {
  behindIssuer,
  change,
  changed,
  signedSo,
  signatureOf,
  withoutSignature,
} from './forgery.ts';
import type { Forgery } from './forgery.ts';
import { xml_names } from './identity_provider.ts';

const reference = /<ds:Reference [\s\S]*?<\/ds:Reference>/;

/** Signatures of the right key that reference something else, or are in another place. */
export const forged_references: Forgery[] = [
  { name: 'no Reference', refused: 'signature_form', create: changed(reference, '') },
  {
    name: 'two References',
    refused: 'signature_form',
    create: (world) =>
      change(
        world.response,
        '</ds:Reference>',
        `</ds:Reference>${reference.exec(world.response)![0]}`,
      ),
  },
  {
    name: 'a Reference to the whole document',
    refused: 'signature_form',
    create: signedSo({ is_uri_empty: true }),
  },
  {
    name: 'a Reference without URI',
    refused: 'signature_form',
    create: changed(/ URI="[^"]*"/, ''),
  },
  {
    name: 'a Reference to the Response',
    refused: 'signature_form',
    create: (world) => change(world.response, / URI="[^"]*"/, ` URI="#${world.facts.response_id}"`),
  },
  {
    name: 'a Reference as an XPointer',
    refused: 'signature_form',
    create: (world) =>
      change(world.response, / URI="[^"]*"/, ` URI="#xpointer(id('${world.facts.assertion_id}'))"`),
  },
  {
    name: 'a Reference to another server',
    refused: 'signature_form',
    create: changed(/ URI="[^"]*"/, ' URI="https://evil.example/a.xml"'),
  },
  {
    name: 'a Reference with an XPath in it',
    refused: 'signature_form',
    create: changed(/ URI="[^"]*"/, ` URI="#x' or '1'='1"`),
  },
  {
    name: 'an Object in the signature',
    refused: 'signature_form',
    create: changed('</ds:Signature>', '<ds:Object/></ds:Signature>'),
  },
  {
    name: 'a second SignedInfo',
    refused: 'signature_form',
    create: (world) =>
      change(
        world.response,
        '</ds:SignedInfo>',
        `</ds:SignedInfo>${/<ds:SignedInfo>.*?<\/ds:SignedInfo>/.exec(world.response)![0]}`,
      ),
  },
  {
    name: 'the signature twice',
    refused: 'signature_form',
    create: (world) =>
      behindIssuer(
        world.response.replace('</saml:Issuer>', '</saml:Issuer >'),
        signatureOf(world.response),
      ),
  },
  {
    name: 'the signature at the end of the assertion',
    refused: 'signature_form',
    create: (world) =>
      change(
        withoutSignature(world.response),
        '</saml:Assertion>',
        `${signatureOf(world.response)}</saml:Assertion>`,
      ),
  },
  {
    name: 'the signature in the Subject',
    refused: 'signature_form',
    create: (world) =>
      change(
        withoutSignature(world.response),
        '<saml:Subject>',
        `<saml:Subject>${signatureOf(world.response)}`,
      ),
  },
  {
    name: 'the signature of the assertion as that of the response',
    refused: 'unsigned',
    create: (world) => behindIssuer(withoutSignature(world.response), signatureOf(world.response)),
  },
  {
    name: 'a Signature of another namespace',
    refused: 'signature_form',
    create: (world) => world.response.replaceAll(xml_names.ds, 'urn:evil'),
  },
];
