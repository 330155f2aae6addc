import { DOMParser, onWarningStopParsing } from '@xmldom/xmldom';
import type { Element } from '@xmldom/xmldom';
import { isNamespaceWellFormed } from './namespaces.ts';
import { refuse } from './refusal.ts';

/**
 * A message as text without its XML declaration and with normalized line ends, and the root of its
 * tree.
 */
export type XmlDocument = { text: string; root: Element };

const bytes_max = 256 * 1024;
// Larger input is not even decoded; the reserve is for line breaks.
const encoded_characters_max = Math.ceil((bytes_max / 3) * 4) + 16 * 1024;
// Anybody who starts a sign-in can make us verify something; 2,000 elements take about 0.2 s for
// each certificate.
const elements_max = 2_000;
const attributes_max = 5_000;
const depth_max = 32;
// The time to parse and canonicalize grows with elements x namespaces in scope.
const namespaces_max = 1_000;

const declaration =
  /^<\?xml\s+version\s*=\s*(["'])1\.0\1(?:\s+encoding\s*=\s*(["'])utf-8\2)?(?:\s+standalone\s*=\s*(["'])(?:yes|no)\3)?\s*\?>/i;
// Each character matches in only one way, so an unterminated tag takes time proportional to its
// length and not its square.
const tag = /<\/?[^\s"'<>/](?:"[^"<]*"|'[^'<]*'|[^"'<>])*>/g;
const reference = /&(?:(?:amp|lt|gt|quot|apos);|#(\d{1,7});|#x([0-9a-fA-F]{1,6});)?/g;

/**
 * Returns the document inside a `SAMLResponse` field. Guarantee: the text is at most 256 KiB of
 * strict base64 of well-formed UTF-8. It has no DOCTYPE, entity, CDATA section, comment or
 * processing instruction, so it is a tree of elements and text. It has at most 2,000 elements, 32
 * deep, 5,000 attributes and 1,000 namespaces. Its namespaces are well-formed, so the parser had
 * nothing to repair. Throws `ResponseRefused`.
 */
export function readDocument(encoded: string): XmlDocument {
  const text = decodeText(decodeBase64(encoded))
    .replaceAll(/\r\n?/g, '\n')
    .replace(declaration, '');
  return { text, root: parseStrictly(text) };
}

/**
 * Parses the root of the XML text under the same rules. Throws `ResponseRefused`, without any part
 * of the text.
 */
export function parseStrictly(text: string): Element {
  checkMarkup(text);
  checkCharacters(text);
  checkReferences(text);
  checkSize(text);
  if (!isNamespaceWellFormed(text))
    refuse(
      'not_xml',
      'The response is not well-formed XML, or breaks a rule of XML namespaces: an undeclared or ' +
        'reserved prefix, a name with two colons, or a repeated attribute.',
    );
  try {
    const { documentElement } = new DOMParser({
      onError: onWarningStopParsing,
      locator: false,
    }).parseFromString(text, 'text/xml');
    if (documentElement !== null) return documentElement;
  } catch {
    // The parser's message repeats the document.
  }
  return refuse('not_xml', 'The response is not well-formed XML.');
}

function decodeBase64(encoded: string): Buffer {
  if (encoded.length > encoded_characters_max)
    refuse('too_large', `The response has more than ${bytes_max} bytes.`);
  const plain = encoded.replaceAll(/[\r\n]/g, '');
  const bytes = Buffer.from(plain, 'base64');
  // Encoding again detects everything that Node's lenient decoder ignores.
  if (bytes.length === 0 || bytes.toString('base64') !== plain)
    refuse('not_base64', 'The field SAMLResponse is not base64 as RFC 4648 defines it.');
  if (bytes.length > bytes_max)
    refuse('too_large', `The response has more than ${bytes_max} bytes.`);
  return bytes;
}

function decodeText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse('not_xml', 'The response is not UTF-8.');
  }
}

/**
 * `<!` begins a DOCTYPE, an entity, a CDATA section and a comment, and cannot occur elsewhere in
 * well-formed XML; the same applies to `<?`.
 */
function checkMarkup(text: string): void {
  if (text.includes('<!'))
    refuse(
      'markup',
      'The response has a DOCTYPE, an entity declaration, a CDATA section or a comment.',
    );
  if (text.includes('<?'))
    refuse(
      'markup',
      'The response has a processing instruction, or an XML declaration of anything but XML 1.0 ' +
        'in UTF-8.',
    );
}

function checkReferences(text: string): void {
  for (const [whole, decimal, hexadecimal] of text.matchAll(reference)) {
    if (whole === '&')
      refuse('markup', "The response refers to an entity that is not one of XML's own five.");
    if (decimal !== undefined) checkCharacter(Number(decimal));
    if (hexadecimal !== undefined) checkCharacter(Number.parseInt(hexadecimal, 16));
  }
}

function checkCharacters(text: string): void {
  for (const character of text) checkCharacter(character.codePointAt(0)!);
}

/** By the production Char of XML 1.0. */
function checkCharacter(code: number): void {
  const is_allowed =
    code < 0x20
      ? code === 0x09 || code === 0x0a || code === 0x0d
      : code <= 0xd7ff ||
        (code >= 0xe000 && code <= 0xfffd) ||
        (code >= 0x10000 && code <= 0x10ffff);
  if (!is_allowed)
    refuse('not_xml', 'The response holds or refers to a character that XML does not have.');
}

/** Counts in the text, because parsing large and deep text is what takes long. */
function checkSize(text: string): void {
  let tags = 0;
  let elements = 0;
  let attributes = 0;
  let depth = 0;
  for (const [found] of text.matchAll(tag)) {
    const is_end = found.startsWith('</');
    tags += 1;
    if (!is_end) elements += 1;
    attributes += found.split('=').length - 1;
    if (is_end) depth -= 1;
    else if (!found.endsWith('/>')) depth += 1;
    if (elements > elements_max)
      refuse('too_large', `The response has more than ${elements_max} elements.`);
    if (attributes > attributes_max)
      refuse('too_large', `The response has more than ${attributes_max} attributes.`);
    if (depth > depth_max)
      refuse('too_large', `The response nests elements more than ${depth_max} deep.`);
  }
  // A `<` that begins no tag could hide a tag from the count that the parser sees.
  if (tags !== text.split('<').length - 1)
    refuse('not_xml', 'The response is not well-formed XML.');
  if (text.split('xmlns').length - 1 > namespaces_max)
    refuse('too_large', `The response declares more than ${namespaces_max} namespaces.`);
}
