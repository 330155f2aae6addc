import type { Element } from '@xmldom/xmldom';
import { refuse } from './refusal.ts';
import type { RefusalCode } from './refusal.ts';

const namespaces = {
  md: 'urn:oasis:names:tc:SAML:2.0:metadata',
  samlp: 'urn:oasis:names:tc:SAML:2.0:protocol',
  saml: 'urn:oasis:names:tc:SAML:2.0:assertion',
  ds: 'http://www.w3.org/2000/09/xmldsig#',
  ec: 'http://www.w3.org/2001/10/xml-exc-c14n#',
};

/** An element's name as the SAML specifications write it, for any prefix in the document. */
export type ElementName = `${keyof typeof namespaces}:${string}`;

// Matches from the first to the last character that is no white space. A search for white space
// before the end would take quadratic time on a long run of it.
const content = /[^ \t\r\n](?:[^]*[^ \t\r\n])?/;
const identifier = /^[A-Za-z_][\w.-]{0,255}$/;

/** Returns true if the element has this name in this namespace. */
export function isNamed(element: Element, name: ElementName): boolean {
  const [prefix, local] = name.split(':') as [keyof typeof namespaces, string];
  return element.localName === local && element.namespaceURI === namespaces[prefix];
}

/** Returns the child elements, in document order. */
export function listChildren(element: Element): Element[] {
  return [...element.childNodes].filter(
    (node): node is Element => node.nodeType === node.ELEMENT_NODE,
  );
}

/** Returns the element and everything below it, in document order. */
export function listElements(root: Element): Element[] {
  return [root, ...listChildren(root).flatMap(listElements)];
}

/**
 * Returns the children by name. Guarantee: each of `once` occurs at most once, in this order,
 * followed only by any number of `repeated`; any other child is refused with the code. A name that
 * is absent has an empty list.
 */
export function readChildren<Name extends ElementName>(
  element: Element,
  code: RefusalCode,
  once: readonly Name[],
  repeated: readonly Name[] = [],
): Record<Name, Element[]> {
  const names = [...once, ...repeated];
  const found = Object.fromEntries(names.map((name) => [name, [] as Element[]])) as Record<
    Name,
    Element[]
  >;
  let last = -1;
  for (const child of listChildren(element)) {
    const at = names.findIndex((name) => isNamed(child, name));
    const is_repeated = at >= once.length;
    if (at === -1 || (at <= last && !is_repeated))
      return refuse(
        code,
        `The element ${element.localName} has a child that does not belong there, is repeated ` +
          'or is out of order.',
      );
    found[names[at]!].push(child);
    last = is_repeated ? once.length : at;
  }
  return found;
}

/**
 * Returns the trimmed text of an element without child elements; undefined for one that has child
 * elements.
 */
export function readText(element: Element): string | undefined {
  if (listChildren(element).length > 0) return undefined;
  return content.exec(element.textContent ?? '')?.[0] ?? '';
}

/** Returns the value of an attribute without namespace; undefined if it is absent. */
export function findAttribute(element: Element, name: string): string | undefined {
  return element.getAttributeNS(null, name) ?? undefined;
}

/**
 * Returns the attribute's value as an XML identifier of at most 256 ASCII characters. An absent or
 * invalid one is refused with the code.
 */
export function getIdentifier(element: Element, name: string, code: RefusalCode): string {
  const value = findAttribute(element, name);
  if (value === undefined || !identifier.test(value))
    return refuse(
      code,
      `The attribute ${name} of ${element.localName} is missing or is not an identifier.`,
    );
  return value;
}
