import { createHmac, createSign } from 'node:crypto';
import { behindIssuer, change, signatureOf, withoutSignature } from './forgery.ts';
import type { Forgery, SignInUnderWay } from './forgery.ts';
import {
  assertionXml,
  responseXml,
  signXml,
  signedResponse,
  xml_names,
} from './identity_provider.ts';
import type { SigningOptions } from './identity_provider.ts';

const more = 'http://www.w3.org/2001/04/xmldsig-more#';
const inclusive = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315';
const reference = /<ds:Reference [\s\S]*?<\/ds:Reference>/;

/** Signed by the right key, but in this way. */
const signedSo = (options: SigningOptions) => (world: SignInUnderWay) =>
  signedResponse(world.acme, world.facts, options);
/** The genuine response with this changed in its signature. */
const changed = (wanted: string | RegExp, replacement: string) => (world: SignInUnderWay) =>
  change(world.response, wanted, replacement);
const evilAssertion = (world: SignInUnderWay) => assertionXml(world.evil);
const certificateInfo = (certificate: string) =>
  `<ds:X509Data><ds:X509Certificate>${certificate.replaceAll(/-----[A-Z ]+-----|\s/g, '')}</ds:X509Certificate></ds:X509Data>`;

/**
 * The genuine response whose SignedInfo names an algorithm a second time, before the one that is
 * listed, and is signed with it.
 */
function signedByNested(
  world: SignInUnderWay,
  algorithm: string,
  sign: (info: string) => string,
): string {
  const method = `<ds:SignatureMethod Algorithm="${algorithm}"/>`;
  const xml = change(
    world.response,
    /(<ds:CanonicalizationMethod [^>]*)\/>/,
    '<ds:CanonicalizationMethod ' +
      `Algorithm="${xml_names.exclusive}">${method}</ds:CanonicalizationMethod>`,
  );
  const [info] = /<ds:SignedInfo>.*?<\/ds:SignedInfo>/.exec(xml)!;
  const canonical = change(
    info,
    '<ds:SignedInfo>',
    `<ds:SignedInfo xmlns:ds="${xml_names.ds}">`,
  ).replaceAll(/<(ds:\w+)([^<>]*)\/>/g, '<$1$2></$1>');
  return change(xml, /<ds:SignatureValue>[^<]*/, `<ds:SignatureValue>${sign(canonical)}`);
}

/**
 * Responses that are not signed, signed with other keys or in other ways, or changed after they
 * were signed.
 */
export const forged_signatures: Forgery[] = [
  {
    name: 'nothing is signed',
    refused: 'unsigned',
    make: (world) => responseXml(world.facts, assertionXml(world.facts)),
  },
  {
    name: 'the signature was taken out',
    refused: 'unsigned',
    make: (world) => withoutSignature(world.response),
  },
  {
    name: 'only the response is signed',
    refused: 'unsigned',
    make: (world) =>
      signXml(
        responseXml(world.facts, assertionXml(world.facts)),
        world.facts.response_id,
        world.acme,
      ),
  },
  {
    name: 'the signature of the assertion was taken out of the response that is signed too',
    refused: 'unsigned',
    make: (world) =>
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
    make: (world) => signedResponse(world.other, world.facts),
  },
  {
    name: 'signed with another key whose certificate is in KeyInfo',
    refused: 'signature',
    make: (world) =>
      signedResponse(world.other, world.evil, {
        key_info: certificateInfo(world.other.certificate),
      }),
  },
  {
    name: 'signed with another key, the right certificate in KeyInfo',
    refused: 'signature',
    make: (world) =>
      signedResponse(world.other, world.evil, {
        key_info: certificateInfo(world.acme.certificate),
      }),
  },
  {
    name: 'the assertion signed with the right key, the response with another',
    refused: 'signature',
    make: (world) => signXml(world.response, world.facts.response_id, world.other),
  },
  {
    name: 'the response signed with the right key, the assertion with another',
    refused: 'signature',
    make: (world) =>
      signXml(signedResponse(world.other, world.evil), world.evil.response_id, world.acme),
  },
  {
    name: 'the response that is signed too, with another Destination written in',
    refused: 'destination',
    make: (world) =>
      change(world.signed_response, /Destination="[^"]*"/, 'Destination="https://evil.example/"'),
  },
  {
    name: 'the response that is signed too, with its IssueInstant changed',
    refused: 'signature',
    make: (world) =>
      change(world.signed_response, /IssueInstant="[^"]*"/, 'IssueInstant="2030-01-01T00:00:00Z"'),
  },
  {
    name: 'the NameID was changed',
    refused: 'signature',
    make: changed('ada@acme.example</saml:NameID>', 'root@acme.example</saml:NameID>'),
  },
  {
    name: 'the e-mail attribute was changed',
    refused: 'signature',
    make: changed('<saml:AttributeValue>ada@', '<saml:AttributeValue>root@'),
  },
  {
    name: 'an attribute was added',
    refused: 'signature',
    make: changed(
      '</saml:AttributeStatement>',
      '<saml:Attribute Name="mail"/></saml:AttributeStatement>',
    ),
  },
  {
    name: 'the ID of the assertion was changed with its Reference',
    refused: 'signature',
    make: (world) => world.response.replaceAll(world.facts.assertion_id, '_x'),
  },
  {
    name: 'the audience was changed',
    refused: 'signature',
    make: changed('<saml:Audience>', '<saml:Audience>https://evil.example/'),
  },
  {
    name: 'the end was moved',
    refused: 'signature',
    make: changed(/ NotOnOrAfter="[^"]*"/, ' NotOnOrAfter="2099-01-01T00:00:00Z"'),
  },
  {
    name: 'the genuine signature in an evil assertion',
    refused: 'signature_form',
    make: (world) =>
      responseXml(world.facts, behindIssuer(evilAssertion(world), signatureOf(world.assertion))),
  },
  {
    name: 'the genuine signature in an evil assertion with the same ID',
    refused: 'signature',
    make: (world) =>
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
    make: changed(/<ds:SignatureValue>[^<]*/, `<ds:SignatureValue>${'A'.repeat(342)}==`),
  },
  {
    name: 'the signature value is empty',
    refused: 'signature',
    make: changed(/<ds:SignatureValue>[^<]*/, '<ds:SignatureValue>'),
  },
  {
    name: 'the digest is of something else',
    refused: 'signature',
    make: changed(/<ds:DigestValue>[^<]*/, `<ds:DigestValue>${'A'.repeat(43)}=`),
  },
  {
    name: 'the digest is empty',
    refused: 'library',
    make: changed(/<ds:DigestValue>[^<]*/, '<ds:DigestValue>'),
  },
  {
    name: 'a second DigestValue',
    refused: 'signature_form',
    make: (world) =>
      change(
        world.response,
        '</ds:DigestValue>',
        `</ds:DigestValue>${/<ds:DigestValue>.*?<\/ds:DigestValue>/.exec(world.response)![0]}`,
      ),
  },
  {
    name: 'RSA with SHA-1',
    refused: 'algorithm',
    make: signedSo({ signature_algorithm: `${xml_names.ds}rsa-sha1` }),
  },
  {
    name: 'a SHA-1 digest',
    refused: 'algorithm',
    make: signedSo({ digest_algorithm: `${xml_names.ds}sha1` }),
  },
  {
    name: 'HMAC with the certificate as its key',
    refused: 'algorithm',
    make: (world) =>
      signedResponse({ ...world.acme, private_key: world.acme.certificate }, world.evil, {
        signature_algorithm: `${xml_names.ds}hmac-sha1`,
      }),
  },
  {
    name: 'HMAC-SHA256 named',
    refused: 'algorithm',
    make: changed(xml_names.rsa_sha256, `${more}hmac-sha256`),
  },
  {
    name: 'DSA named',
    refused: 'algorithm',
    make: changed(xml_names.rsa_sha256, `${xml_names.ds}dsa-sha1`),
  },
  {
    name: 'ECDSA named',
    refused: 'algorithm',
    make: changed(xml_names.rsa_sha256, `${more}ecdsa-sha256`),
  },
  { name: 'no algorithm named', refused: 'algorithm', make: changed(xml_names.rsa_sha256, '') },
  {
    name: 'the algorithm "constructor"',
    refused: 'algorithm',
    make: changed(xml_names.rsa_sha256, 'constructor'),
  },
  {
    name: 'another algorithm than was used',
    refused: 'signature',
    make: changed(xml_names.rsa_sha256, `${more}rsa-sha512`),
  },
  {
    name: 'an HMACOutputLength',
    refused: 'signature_form',
    make: changed(
      /(?<=rsa-sha256")\/>/,
      '><ds:HMACOutputLength>0</ds:HMACOutputLength></ds:SignatureMethod>',
    ),
  },
  {
    name:
      'SHA-1 in a second SignatureMethod, inside of the CanonicalizationMethod, and really ' +
      'signed so',
    refused: 'signature_form',
    make: (world) =>
      signedByNested(world, `${xml_names.ds}rsa-sha1`, (info) =>
        createSign('RSA-SHA1').update(info).sign(world.acme.private_key, 'base64'),
      ),
  },
  {
    name: 'HMAC with the certificate as its key, in a second SignatureMethod',
    refused: 'signature_form',
    make: (world) =>
      signedByNested(world, `${xml_names.ds}hmac-sha1`, (info) =>
        createHmac('sha1', world.acme.certificate).update(info).digest('base64'),
      ),
  },
  ...[
    'SignedInfo',
    'SignatureMethod',
    'Reference',
    'DigestMethod',
    'DigestValue',
    'SignatureValue',
    'Signature',
  ].map((part): Forgery => ({
    name: `a second ${part} in the KeyInfo`,
    refused: 'signature_form',
    make: changed(/(?=<\/ds:KeyInfo>)/, `<ds:${part}/>`),
  })),
  {
    name: 'the name of the algorithm in capitals',
    refused: 'algorithm',
    make: changed(xml_names.rsa_sha256, xml_names.rsa_sha256.toUpperCase()),
  },
  {
    name: 'a line break behind the name of the algorithm',
    refused: 'algorithm',
    make: changed(xml_names.rsa_sha256, `${xml_names.rsa_sha256}&#10;`),
  },
  {
    name: 'prefixes for the canonicalisation that the signer did not name',
    refused: 'signature',
    make: changed(
      /(?<=xml-exc-c14n#")\/>(?=<\/ds:Transforms>)/,
      `><ec:InclusiveNamespaces xmlns:ec="${xml_names.exclusive}" PrefixList="#default ` +
        'samlp"/></ds:Transform>',
    ),
  },
  {
    name: 'inclusive canonicalisation of the assertion',
    refused: 'algorithm',
    make: signedSo({ transforms: [xml_names.enveloped, inclusive] }),
  },
  {
    name: 'inclusive canonicalisation of SignedInfo',
    refused: 'algorithm',
    make: signedSo({ canonicalization: inclusive }),
  },
  {
    name: 'canonicalisation with comments',
    refused: 'algorithm',
    make: signedSo({ transforms: [xml_names.enveloped, `${xml_names.exclusive}WithComments`] }),
  },
  {
    name: 'the transforms in the other order',
    refused: 'algorithm',
    make: signedSo({ transforms: [xml_names.exclusive, xml_names.enveloped] }),
  },
  {
    name: 'one transform',
    refused: 'signature_form',
    make: signedSo({ transforms: [xml_names.enveloped] }),
  },
  {
    name: 'three transforms',
    refused: 'signature_form',
    make: signedSo({ transforms: [xml_names.enveloped, xml_names.exclusive, xml_names.exclusive] }),
  },
  {
    name: 'an XSLT transform',
    refused: 'algorithm',
    make: changed(
      `Algorithm="${xml_names.enveloped}"`,
      'Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"',
    ),
  },
  {
    name: 'an XPath transform',
    refused: 'algorithm',
    make: changed(
      `Algorithm="${xml_names.enveloped}"`,
      'Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"',
    ),
  },
  { name: 'no Reference', refused: 'signature_form', make: changed(reference, '') },
  {
    name: 'two References',
    refused: 'signature_form',
    make: (world) =>
      change(
        world.response,
        '</ds:Reference>',
        `</ds:Reference>${reference.exec(world.response)![0]}`,
      ),
  },
  {
    name: 'a Reference to the whole document',
    refused: 'signature_form',
    make: signedSo({ is_uri_empty: true }),
  },
  { name: 'a Reference without URI', refused: 'signature_form', make: changed(/ URI="[^"]*"/, '') },
  {
    name: 'a Reference to the Response',
    refused: 'signature_form',
    make: (world) => change(world.response, / URI="[^"]*"/, ` URI="#${world.facts.response_id}"`),
  },
  {
    name: 'a Reference as an XPointer',
    refused: 'signature_form',
    make: (world) =>
      change(world.response, / URI="[^"]*"/, ` URI="#xpointer(id('${world.facts.assertion_id}'))"`),
  },
  {
    name: 'a Reference to another server',
    refused: 'signature_form',
    make: changed(/ URI="[^"]*"/, ' URI="https://evil.example/a.xml"'),
  },
  {
    name: 'a Reference with an XPath in it',
    refused: 'signature_form',
    make: changed(/ URI="[^"]*"/, ` URI="#x' or '1'='1"`),
  },
  {
    name: 'an Object in the signature',
    refused: 'signature_form',
    make: changed('</ds:Signature>', '<ds:Object/></ds:Signature>'),
  },
  {
    name: 'a second SignedInfo',
    refused: 'signature_form',
    make: (world) =>
      change(
        world.response,
        '</ds:SignedInfo>',
        `</ds:SignedInfo>${/<ds:SignedInfo>.*?<\/ds:SignedInfo>/.exec(world.response)![0]}`,
      ),
  },
  {
    name: 'the signature twice',
    refused: 'signature_form',
    make: (world) =>
      behindIssuer(
        world.response.replace('</saml:Issuer>', '</saml:Issuer >'),
        signatureOf(world.response),
      ),
  },
  {
    name: 'the signature at the end of the assertion',
    refused: 'signature_form',
    make: (world) =>
      change(
        withoutSignature(world.response),
        '</saml:Assertion>',
        `${signatureOf(world.response)}</saml:Assertion>`,
      ),
  },
  {
    name: 'the signature in the Subject',
    refused: 'signature_form',
    make: (world) =>
      change(
        withoutSignature(world.response),
        '<saml:Subject>',
        `<saml:Subject>${signatureOf(world.response)}`,
      ),
  },
  {
    name: 'the signature of the assertion as that of the response',
    refused: 'unsigned',
    make: (world) => behindIssuer(withoutSignature(world.response), signatureOf(world.response)),
  },
  {
    name: 'a Signature of another namespace',
    refused: 'signature_form',
    make: (world) => world.response.replaceAll(xml_names.ds, 'urn:evil'),
  },
];
