import { DOMParser } from '@xmldom/xmldom';
import type { Element } from '@xmldom/xmldom';

/** Parses the root of an XML answer. Throws if the text is not well-formed. */
export function readXml(text: string): Element {
  const root = new DOMParser().parseFromString(text, 'text/xml').documentElement;
  if (root === null) throw new Error('The answer has no content.');
  return root;
}

/** Returns the elements of a name anywhere below another. */
export function elementsOf(parent: Element, name: string): Element[] {
  return [...parent.getElementsByTagName(name)];
}

/** Returns the text of the first element of a name, or undefined if it is missing or empty. */
export function textOfElement(parent: Element, name: string): string | undefined {
  const text = parent.getElementsByTagName(name)[0]?.textContent ?? '';
  return text === '' ? undefined : text;
}

/** Escapes a text as the content of an XML element. */
export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
