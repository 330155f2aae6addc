/** An element of a page, as web SDKs send it; the clicked one comes first, its parents follow. */
type Element = {
  tag_name?: string;
  attr_class?: string[];
  attr_id?: string;
  text?: string;
  href?: string;
  nth_child?: number;
  nth_of_type?: number;
  order: number;
  attributes: Record<string, string>;
};

const elements_max = 500;
const texts: Record<string, 'attr_id' | 'text' | 'href'> = {
  attr_id: 'attr_id',
  text: 'text',
  href: 'href',
};
const numbers: Record<string, 'nth_child' | 'nth_of_type'> = {
  'nth-child': 'nth_child',
  'nth-of-type': 'nth_of_type',
};

/**
 * Gives events with an `elements_chain` their `elements`, parsed on first access. The property is
 * not enumerable, so that the event's JSON stays the same.
 */
export function giveElements(payload: unknown): unknown {
  for (const event of Array.isArray(payload) ? (payload as unknown[]) : [payload]) {
    if (typeof event !== 'object' || event === null || Object.hasOwn(event, 'elements')) continue;
    const { elements_chain: chain } = event as { elements_chain?: unknown };
    if (typeof chain !== 'string') continue;
    const become = (value: unknown) =>
      Object.defineProperty(event, 'elements', { value, writable: true, configurable: true });
    Object.defineProperty(event, 'elements', {
      configurable: true,
      get: () => {
        const elements = readElements(chain);
        become(elements);
        return elements;
      },
      set: become,
    });
  }
  return payload;
}

/** Reads `a.link:href="/x"nth-child="2";div`: at most 500 elements, each character once. */
export function readElements(chain: string): Element[] {
  const elements: Element[] = [];
  let begin = 0;
  for (let end = 0; end <= chain.length && elements.length < elements_max; end += 1) {
    if (chain[end] === '"') end = endOfQuote(chain, end + 1);
    if (end < chain.length && chain[end] !== ';') continue;
    const text = chain.slice(begin, end).trim();
    if (text !== '') elements.push(readElement(text, elements.length));
    begin = end + 1;
  }
  return elements;
}

/** Returns the position of the quote that ends the text from `from`, or the end of the source. */
function endOfQuote(text: string, from: number): number {
  let place = from;
  while (place < text.length && text[place] !== '"') place += text[place] === '\\' ? 2 : 1;
  return Math.min(place, text.length);
}

/** Classes can contain colons too: the attributes begin at the last one before the first value. */
function readElement(text: string, order: number): Element {
  const first = text.indexOf('="');
  const colon = first === -1 ? -1 : text.lastIndexOf(':', first);
  const [tag, ...classes] = (colon === -1 ? text : text.slice(0, colon)).split('.');
  const element: Element = { order, attributes: {} };
  if (tag !== '') element.tag_name = tag!;
  if (classes.length > 0) element.attr_class = classes.filter((name) => name !== '');
  const others: [string, string][] = [];
  for (const [name, value] of colon === -1 ? [] : readAttributes(text, colon + 1)) {
    if (Object.hasOwn(texts, name)) element[texts[name]!] = value;
    else if (Object.hasOwn(numbers, name)) element[numbers[name]!] = Number.parseInt(value, 10);
    else if (name !== '') others.push([name, value]);
  }
  // A web page chooses the names: as entries, they cannot collide with an object's members.
  element.attributes = Object.fromEntries(others);
  return element;
}

function readAttributes(text: string, from: number): [string, string][] {
  const pairs: [string, string][] = [];
  for (let place = from; ;) {
    const sign = text.indexOf('="', place);
    if (sign === -1) return pairs;
    const end = endOfQuote(text, sign + 2);
    const value = text.slice(sign + 2, end).replaceAll('\\"', '"');
    pairs.push([text.slice(place, sign).trim(), value]);
    place = end + 1;
  }
}
