import { change, writing } from './forgery.ts';
import type { Forgery } from './forgery.ts';
import { xml_names } from './identity_provider.ts';

/** Attributes that break a rule of namespaces, and that a lenient parser accepts. */
const lenient: Record<string, string> = {
  'xml bound to another namespace': 'xmlns:xml="urn:other"',
  'xmlns bound': 'xmlns:xmlns="urn:other"',
  'xmlns bound to its own namespace': 'xmlns:xmlns="http://www.w3.org/2000/xmlns/"',
  'a prefix bound to the namespace of xmlns': 'xmlns:q="http://www.w3.org/2000/xmlns/"',
  'a prefix bound to the namespace of xml': 'xmlns:q="http://www.w3.org/XML/1998/namespace"',
  'the namespace of xml without a prefix': 'xmlns="http://www.w3.org/XML/1998/namespace"',
  'a prefix taken away': 'xmlns:q="urn:q" xmlns:q2=""',
  'one attribute by two prefixes of one namespace':
    'xmlns:q="urn:q" xmlns:r="urn:q" q:ID="_a" r:ID="_b"',
  'one attribute by two prefixes, one of them written with a reference':
    'xmlns:q="urn:q" xmlns:r="urn:&#113;" q:ID="_a" r:ID="_b"',
  'an attribute with an undeclared prefix': 'q:ID="_a"',
};

/** All that break one. */
const attributes: Record<string, string> = {
  ...lenient,
  'a prefix bound twice': 'xmlns:q="urn:a" xmlns:q="urn:b"',
  'an attribute with two colons': 'xmlns:q="urn:q" q:r:ID="_a"',
  'an attribute that begins with a colon': ':ID="_a"',
  'a prefix that begins with a digit': 'xmlns:1q="urn:q"',
  'an attribute whose local name begins with a digit': 'xmlns:q="urn:q" q:1D="_a"',
};

/** Elements that break one, as the last child of the Status. */
const elements: Record<string, string> = {
  'an element with an undeclared prefix': '<q:StatusDetail/>',
  'an element with two colons': `<q:r:StatusDetail xmlns:q="${xml_names.samlp}"/>`,
  'an element that begins with a colon': '<:StatusDetail/>',
  'an element that ends with a colon': `<q: xmlns:q="${xml_names.samlp}"/>`,
  'an element of the prefix xmlns': '<xmlns:Assertion/>',
  'a prefix that ended with the element before':
    '<samlp:StatusDetail><q:a xmlns:q="urn:q"/><q:b/></samlp:StatusDetail>',
};

const inStatus = Object.entries(elements).map(([name, text]): Forgery => ({
  name,
  refused: 'not_xml',
  create: (world) => change(world.response, '</samlp:Status>', `${text}</samlp:Status>`),
}));

/** On the Response itself, which is not signed, and on the Status in it. */
const unsigned = Object.entries(attributes).flatMap(([name, text]) =>
  ['<samlp:Response', '<samlp:Status'].map((tag): Forgery => ({
    name: `${name}, on ${tag.slice(1)}`,
    refused: 'not_xml',
    create: (world) => change(world.response, new RegExp(`${tag}(?=[ >])`), `${tag} ${text}`),
  })),
);

/** Signed in this form by the provider's own key. */
const signed = Object.entries(lenient).map(([name, text]): Forgery => ({
  name: `${name}, inside of what is signed`,
  refused: 'not_xml',
  create: writing('<saml:Subject>', `<saml:Subject ${text}>`),
}));

/** Responses that are XML but not namespace-well-formed: two parsers may see two documents. */
export const forged_namespaces: Forgery[] = [...inStatus, ...unsigned, ...signed];
