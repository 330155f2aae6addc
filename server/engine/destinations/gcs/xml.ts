import { DOMParser } from '@xmldom/xmldom';
import type { Element } from '@xmldom/xmldom';

/** The root of an XML answer. Throws when the text is not well-formed. */
export function readXml(text: string): Element {
  const root = new DOMParser().parseFromString(text, 'text/xml').documentElement;
  if (root === null) throw new Error('The answer has no content.');
  return root;
}

/** The elements of a name directly or deeper below another. */
export function elementsOf(parent: Element, name: string): Element[] {
  return [...parent.getElementsByTagName(name)];
}

/** The text of the first element of a name, or undefined when there is none or it is empty. */
export function textOfElement(parent: Element, name: string): string | undefined {
  const text = parent.getElementsByTagName(name)[0]?.textContent ?? '';
  return text === '' ? undefined : text;
}

/** A text as the content of an XML element. */
export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
