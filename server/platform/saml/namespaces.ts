import { createRequire } from 'node:module';
import type * as Saxes from 'saxes';

const require = createRequire(import.meta.url);

// A part of a name that begins with a character only allowed later (XML 1.0, NameChar).
const wrong_part = /:[-.\d\u00b7\u203f\u2040\p{M}]/u;

/**
 * Returns true if the text is one well-formed XML document, and namespace-well-formed (Namespaces
 * in XML 1.0, 7). Guarantee: no prefix is undeclared, unset or bound to a reserved namespace, and
 * no name has two colons. No element has an attribute twice, also not by two prefixes of one
 * namespace. So two parsers cannot read different names from one text. The text has no DOCTYPE.
 */
export function isNamespaceWellFormed(text: string): boolean {
  // Loaded here: most servers never read SAML.
  const { SaxesParser } = require('saxes') as typeof Saxes;
  const parser = new SaxesParser({ xmlns: true, position: false });
  let is_right = true;
  const check = (name: string) => {
    if (wrong_part.test(name)) is_right = false;
  };
  parser.on('error', () => (is_right = false));
  parser.on('attribute', ({ name }) => check(name));
  parser.on('opentag', ({ name }) => check(name));
  parser.write(text).close();
  return is_right;
}
