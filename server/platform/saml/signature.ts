import type { Element } from '@xmldom/xmldom';
import {
  findAttribute,
  getIdentifier,
  isNamed,
  listChildren,
  listElements,
  readChildren,
} from './elements.ts';
import { quoted, refuse } from './refusal.ts';

const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
// Algorithms that the library can verify, without SHA-1. It supports no HMAC, DSA or ECDSA.
const signature_algorithms = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
]);
// A verifier that searches these below the signature, at any depth, must find the ones that are
// checked here.
const verified_parts = new Set([
  'Signature',
  'SignedInfo',
  'CanonicalizationMethod',
  'SignatureMethod',
  'Reference',
  'Transforms',
  'DigestMethod',
  'DigestValue',
  'SignatureValue',
]);
const digest_algorithms = new Set([
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
]);

/**
 * Refuses a signature of another form than SAML 2.0 Core 5.4. The right form is enveloped in the
 * element that it signs and has one Reference to that element's ID. It has the transforms
 * enveloped-signature and exclusive canonicalization, an empty Object, and algorithms from the
 * list. KeyInfo is allowed and never read. Guarantee: each part that a verifier looks up by name
 * exists once. Does not verify the signature itself.
 */
export function checkSignatureForm(signed: Element, signature: Element): void {
  const names = listElements(signature).flatMap(({ localName }) =>
    localName !== null && verified_parts.has(localName) ? localName : [],
  );
  if (new Set(names).size < names.length)
    refuse('signature_form', 'A part of the signature occurs twice.');
  const parts = readChildren(signature, 'signature_form', [
    'ds:SignedInfo',
    'ds:SignatureValue',
    'ds:KeyInfo',
  ]);
  const info = readChildren(only(parts['ds:SignedInfo']), 'signature_form', [
    'ds:CanonicalizationMethod',
    'ds:SignatureMethod',
    'ds:Reference',
  ]);
  checkLeaf(only(parts['ds:SignatureValue']));
  checkAlgorithm(only(info['ds:CanonicalizationMethod']), new Set([exclusive]));
  checkAlgorithm(only(info['ds:SignatureMethod']), signature_algorithms);
  checkLeaf(only(info['ds:SignatureMethod']));
  checkReference(only(info['ds:Reference']), getIdentifier(signed, 'ID', 'signature_form'));
}

function checkReference(reference: Element, id: string): void {
  if (findAttribute(reference, 'URI') !== `#${id}`)
    refuse(
      'signature_form',
      'The Reference of the signature does not point to the element that contains the signature.',
    );
  const parts = readChildren(reference, 'signature_form', [
    'ds:Transforms',
    'ds:DigestMethod',
    'ds:DigestValue',
  ]);
  checkAlgorithm(only(parts['ds:DigestMethod']), digest_algorithms);
  checkLeaf(only(parts['ds:DigestMethod']));
  checkLeaf(only(parts['ds:DigestValue']));
  const transforms = listChildren(only(parts['ds:Transforms']));
  if (
    transforms.length !== 2 ||
    !transforms.every((transform) => isNamed(transform, 'ds:Transform'))
  )
    refuse(
      'signature_form',
      'The signature has other transforms than enveloped-signature and exclusive canonicalisation.',
    );
  checkAlgorithm(transforms[0]!, new Set([enveloped]));
  checkLeaf(transforms[0]!);
  checkAlgorithm(transforms[1]!, new Set([exclusive]));
  readChildren(transforms[1]!, 'signature_form', ['ec:InclusiveNamespaces']);
}

function only(found: Element[]): Element {
  return found[0] ?? refuse('signature_form', 'The signature is not complete.');
}

function checkLeaf(element: Element): void {
  if (listChildren(element).length > 0)
    refuse('signature_form', `The element ${element.localName} of the signature has children.`);
}

function checkAlgorithm(element: Element, allowed: ReadonlySet<string>): void {
  const algorithm = findAttribute(element, 'Algorithm') ?? '';
  if (!allowed.has(algorithm))
    refuse(
      'algorithm',
      `The algorithm ${quoted(algorithm)} of ${element.localName} is not accepted. Use RSA ` +
        'with SHA-256 at the identity provider.',
    );
}
