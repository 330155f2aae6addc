/** A part of a sentence: an address, an instant, or plain text. */
export type Part = { kind: 'text' | 'address' | 'instant'; text: string };

const address = String.raw`https?:\/\/\S+`;
const instant = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)`;

/** A sentence of the API with its addresses and instants taken out; the parts give all of it. */
export function partsOf(sentence: string): Part[] {
  return sentence
    .split(new RegExp(`(${address}|${instant})`))
    .map((text, index): Part => {
      const found = text.startsWith('h') ? 'address' : 'instant';
      return { kind: index % 2 === 1 ? found : 'text', text };
    })
    .filter(({ text }) => text !== '');
}
