import { createHmac, createSign } from 'node:crypto';
import { change, changed, signedSo } from './forgery.ts';
import type { Forgery, SignInUnderWay } from './forgery.ts';
import { signedResponse, xml_names } from './identity_provider.ts';

const more = 'http://www.w3.org/2001/04/xmldsig-more#';
const inclusive = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315';

/**
 * The genuine response whose SignedInfo names an algorithm a second time, before the allowed one,
 * and is signed with it.
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

/** Signed with an algorithm, canonicalisation or transform that is not allowed. */
export const forged_algorithms: Forgery[] = [
  {
    name: 'RSA with SHA-1',
    refused: 'algorithm',
    create: signedSo({ signature_algorithm: `${xml_names.ds}rsa-sha1` }),
  },
  {
    name: 'a SHA-1 digest',
    refused: 'algorithm',
    create: signedSo({ digest_algorithm: `${xml_names.ds}sha1` }),
  },
  {
    name: 'HMAC with the certificate as its key',
    refused: 'algorithm',
    create: (world) =>
      signedResponse({ ...world.acme, private_key: world.acme.certificate }, world.evil, {
        signature_algorithm: `${xml_names.ds}hmac-sha1`,
      }),
  },
  {
    name: 'HMAC-SHA256 named',
    refused: 'algorithm',
    create: changed(xml_names.rsa_sha256, `${more}hmac-sha256`),
  },
  {
    name: 'DSA named',
    refused: 'algorithm',
    create: changed(xml_names.rsa_sha256, `${xml_names.ds}dsa-sha1`),
  },
  {
    name: 'ECDSA named',
    refused: 'algorithm',
    create: changed(xml_names.rsa_sha256, `${more}ecdsa-sha256`),
  },
  { name: 'no algorithm named', refused: 'algorithm', create: changed(xml_names.rsa_sha256, '') },
  {
    name: 'the algorithm "constructor"',
    refused: 'algorithm',
    create: changed(xml_names.rsa_sha256, 'constructor'),
  },
  {
    name: 'another algorithm than was used',
    refused: 'signature',
    create: changed(xml_names.rsa_sha256, `${more}rsa-sha512`),
  },
  {
    name: 'an HMACOutputLength',
    refused: 'signature_form',
    create: changed(
      /(?<=rsa-sha256")\/>/,
      '><ds:HMACOutputLength>0</ds:HMACOutputLength></ds:SignatureMethod>',
    ),
  },
  {
    name:
      'SHA-1 in a second SignatureMethod, inside of the CanonicalizationMethod, and really ' +
      'signed so',
    refused: 'signature_form',
    create: (world) =>
      signedByNested(world, `${xml_names.ds}rsa-sha1`, (info) =>
        createSign('RSA-SHA1').update(info).sign(world.acme.private_key, 'base64'),
      ),
  },
  {
    name: 'HMAC with the certificate as its key, in a second SignatureMethod',
    refused: 'signature_form',
    create: (world) =>
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
    create: changed(/(?=<\/ds:KeyInfo>)/, `<ds:${part}/>`),
  })),
  {
    name: 'the name of the algorithm in capitals',
    refused: 'algorithm',
    create: changed(xml_names.rsa_sha256, xml_names.rsa_sha256.toUpperCase()),
  },
  {
    name: 'a line break behind the name of the algorithm',
    refused: 'algorithm',
    create: changed(xml_names.rsa_sha256, `${xml_names.rsa_sha256}&#10;`),
  },
  {
    name: 'prefixes for the canonicalisation that the signer did not name',
    refused: 'signature',
    create: changed(
      /(?<=xml-exc-c14n#")\/>(?=<\/ds:Transforms>)/,
      `><ec:InclusiveNamespaces xmlns:ec="${xml_names.exclusive}" PrefixList="#default ` +
        'samlp"/></ds:Transform>',
    ),
  },
  {
    name: 'inclusive canonicalisation of the assertion',
    refused: 'algorithm',
    create: signedSo({ transforms: [xml_names.enveloped, inclusive] }),
  },
  {
    name: 'inclusive canonicalisation of SignedInfo',
    refused: 'algorithm',
    create: signedSo({ canonicalization: inclusive }),
  },
  {
    name: 'canonicalisation with comments',
    refused: 'algorithm',
    create: signedSo({ transforms: [xml_names.enveloped, `${xml_names.exclusive}WithComments`] }),
  },
  {
    name: 'the transforms in the other order',
    refused: 'algorithm',
    create: signedSo({ transforms: [xml_names.exclusive, xml_names.enveloped] }),
  },
  {
    name: 'one transform',
    refused: 'signature_form',
    create: signedSo({ transforms: [xml_names.enveloped] }),
  },
  {
    name: 'three transforms',
    refused: 'signature_form',
    create: signedSo({
      transforms: [xml_names.enveloped, xml_names.exclusive, xml_names.exclusive],
    }),
  },
  {
    name: 'an XSLT transform',
    refused: 'algorithm',
    create: changed(
      `Algorithm="${xml_names.enveloped}"`,
      'Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"',
    ),
  },
  {
    name: 'an XPath transform',
    refused: 'algorithm',
    create: changed(
      `Algorithm="${xml_names.enveloped}"`,
      'Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"',
    ),
  },
];
