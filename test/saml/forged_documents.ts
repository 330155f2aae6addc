import { forged_namespaces } from './forged_namespaces.ts';
import { forged_sizes } from './forged_sizes.ts';
import { change, changed, withoutSignature } from './forgery.ts';
import type { Forgery, SignInUnderWay } from './forgery.ts';
import { xml_names } from './identity_provider.ts';

const before = (text: string) => (world: SignInUnderWay) => text + world.response;

/** Responses that abuse XML itself: comments, entities, characters, sizes, identifiers. */
export const forged_documents: Forgery[] = [
  {
    name: 'a comment that cuts the NameID',
    refused: 'markup',
    create: changed(
      'ada@acme.example</saml:NameID>',
      'ada@acme.example<!---->.evil.example</saml:NameID>',
    ),
  },
  {
    name: 'a comment in the e-mail attribute',
    refused: 'markup',
    create: changed('<saml:AttributeValue>ada@', '<saml:AttributeValue>ad<!-- -->a@'),
  },
  {
    name: 'a comment in the Issuer',
    refused: 'markup',
    create: changed('</saml:Issuer>', '<!-- x --></saml:Issuer>'),
  },
  {
    name: 'a comment in the DigestValue',
    refused: 'markup',
    create: changed('<ds:DigestValue>', '<ds:DigestValue><!--x-->'),
  },
  {
    name: 'a comment in the SignatureValue',
    refused: 'markup',
    create: changed('<ds:SignatureValue>', '<ds:SignatureValue><!--x-->'),
  },
  { name: 'a comment before the document', refused: 'markup', create: before('<!-- x -->') },
  {
    name: 'a CDATA section in the NameID',
    refused: 'markup',
    create: changed('ada@acme.example</saml:NameID>', '<![CDATA[ada@acme.example]]></saml:NameID>'),
  },
  {
    name: 'a processing instruction in the NameID',
    refused: 'markup',
    create: changed('ada@acme.example</saml:NameID>', 'ada@acme.example<?x?></saml:NameID>'),
  },
  {
    name: 'a style sheet',
    refused: 'markup',
    create: before('<?xml-stylesheet href="https://evil.example/x.xsl"?>'),
  },
  { name: 'a DOCTYPE', refused: 'markup', create: before('<!DOCTYPE samlp:Response>') },
  {
    name: 'a DOCTYPE after the declaration',
    refused: 'markup',
    create: before(
      '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE a SYSTEM "https://evil.example/a.dtd">',
    ),
  },
  {
    name: 'an external entity',
    refused: 'markup',
    create: before('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
  },
  {
    name: 'entities that grow',
    refused: 'markup',
    create: before('<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'),
  },
  {
    name: 'a DOCTYPE that makes another attribute an identifier',
    refused: 'markup',
    create: before('<!DOCTYPE a [<!ATTLIST saml:Assertion Name ID #IMPLIED>]>'),
  },
  {
    name: 'an entity without declaration',
    refused: 'markup',
    create: changed('ada@acme.example</saml:NameID>', '&ada;@acme.example</saml:NameID>'),
  },
  {
    name: 'an entity of HTML',
    refused: 'markup',
    create: changed('ada@acme.example</saml:NameID>', 'ada@acme.example&nbsp;</saml:NameID>'),
  },
  {
    name: 'a bare ampersand',
    refused: 'markup',
    create: changed('ada@acme.example</saml:NameID>', 'a&b@acme.example</saml:NameID>'),
  },
  {
    name: 'a reference to the character 0',
    refused: 'not_xml',
    create: changed('ada@acme.example</saml:NameID>', 'ada@acme.example&#0;</saml:NameID>'),
  },
  {
    name: 'a reference to half a character',
    refused: 'not_xml',
    create: changed('ada@acme.example</saml:NameID>', 'ada@acme.example&#xD800;</saml:NameID>'),
  },
  {
    name: 'a reference past the last character',
    refused: 'not_xml',
    create: changed('ada@acme.example</saml:NameID>', 'ada@acme.example&#x110000;</saml:NameID>'),
  },
  {
    name: 'a NUL',
    refused: 'not_xml',
    create: changed('ada@acme.example</saml:NameID>', 'ada@acme.example\u0000</saml:NameID>'),
  },
  {
    name: 'a declaration of another encoding',
    refused: 'markup',
    create: before('<?xml version="1.0" encoding="UTF-16"?>'),
  },
  {
    name: 'a declaration of XML 1.1',
    refused: 'markup',
    create: before('<?xml version="1.1" encoding="UTF-8"?>'),
  },
  {
    name: 'a declaration of UTF-7',
    refused: 'markup',
    create: before('<?xml version="1.0" encoding="UTF-7"?>'),
  },
  { name: 'a byte order mark', refused: 'not_xml', create: before('\ufeff') },
  { name: 'text before the document', refused: 'not_xml', create: before('x') },
  {
    name: 'a tag that does not end',
    refused: 'not_xml',
    create: changed('</samlp:Response>', '</samlp:Response'),
  },
  {
    name: 'tags that cross',
    refused: 'not_xml',
    create: changed(
      '</saml:SubjectConfirmation></saml:Subject>',
      '</saml:Subject></saml:SubjectConfirmation>',
    ),
  },
  {
    name: 'a prefix without a namespace',
    refused: 'not_xml',
    create: changed('<samlp:Status>', '<samlp:Status x:y="1">'),
  },
  {
    name: 'an attribute twice',
    refused: 'not_xml',
    create: changed(' Version="2.0"', ' Version="2.0" Version="2.0"'),
  },
  {
    name: 'an ID attribute twice',
    refused: 'not_xml',
    create: changed(' Version="2.0"', ' Version="2.0" ID="_other"'),
  },
  {
    name: 'an attribute without quotes',
    refused: 'not_xml',
    create: changed(' Version="2.0"', ' Version=2.0'),
  },
  ...forged_namespaces,
  ...forged_sizes,
  {
    name: 'an Id in other letters with the value of the ID',
    refused: 'duplicate_id',
    create: (world) =>
      change(world.response, '<samlp:Status>', `<samlp:Status Id="${world.facts.assertion_id}">`),
  },
  {
    name: 'an id with the value of the ID',
    refused: 'duplicate_id',
    create: (world) =>
      change(world.response, '<samlp:Status>', `<samlp:Status id="${world.facts.assertion_id}">`),
  },
  {
    name: 'an xml:id with the value of the ID',
    refused: 'duplicate_id',
    create: (world) =>
      change(
        world.response,
        '<samlp:Status>',
        `<samlp:Status xml:id="${world.facts.assertion_id}">`,
      ),
  },
  {
    name: 'an AssertionID with the value of the ID',
    refused: 'duplicate_id',
    create: (world) =>
      change(
        world.response,
        '<samlp:Status>',
        `<samlp:Status AssertionID="${world.facts.assertion_id}">`,
      ),
  },
  {
    name: 'the Response with the ID of the assertion',
    refused: 'duplicate_id',
    create: (world) => change(world.response, world.facts.response_id, world.facts.assertion_id),
  },
  {
    name: 'no assertion',
    refused: 'assertion_count',
    create: changed(/<saml:Assertion[\s\S]*<\/saml:Assertion>/, ''),
  },
  {
    name: 'an EncryptedAssertion',
    refused: 'encrypted',
    create: changed(
      /<saml:Assertion[\s\S]*<\/saml:Assertion>/,
      `<saml:EncryptedAssertion xmlns:saml="${xml_names.saml}"/>`,
    ),
  },
  {
    name: 'an EncryptedAssertion beside the genuine one',
    refused: 'encrypted',
    create: changed(
      '</samlp:Status>',
      `</samlp:Status><saml:EncryptedAssertion xmlns:saml="${xml_names.saml}"/>`,
    ),
  },
  {
    name: 'an EncryptedID',
    refused: 'encrypted',
    create: changed('<saml:Subject>', '<saml:Subject><saml:EncryptedID/>'),
  },
  { name: 'the assertion alone', refused: 'not_a_response', create: (world) => world.assertion },
  {
    name: 'a LogoutResponse',
    refused: 'not_a_response',
    create: (world) => world.response.replaceAll('samlp:Response', 'samlp:LogoutResponse'),
  },
  {
    name: 'a Response of another namespace',
    refused: 'not_a_response',
    create: (world) =>
      world.response.replaceAll(xml_names.samlp, 'urn:oasis:names:tc:SAML:1.0:protocol'),
  },
  { name: 'a Response without namespace', refused: 'not_a_response', create: () => '<Response/>' },
  {
    name: 'an assertion of SAML 1.1',
    refused: 'not_a_response',
    create: (world) =>
      change(
        withoutSignature(world.response),
        /<saml:Assertion xmlns:saml="[^"]*"/,
        '<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:1.0:assertion"',
      ),
  },
  { name: 'HTML', refused: 'not_xml', create: () => '<html><body><br></body></html>' },
];
