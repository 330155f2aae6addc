/** A part of a sentence: an address, an instant, or plain text. */
export type Part = { kind: 'text' | 'address' | 'instant'; text: string };

const address = String.raw`https?:\/\/\S+`;
const instant = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)`;

/** Splits a sentence of the API into addresses, instants and texts, without loss. */
export function partsOf(sentence: string): Part[] {
  return sentence
    .split(new RegExp(`(${address}|${instant})`))
    .map((text, index): Part => {
      const found = text.startsWith('h') ? 'address' : 'instant';
      return { kind: index % 2 === 1 ? found : 'text', text };
    })
    .filter(({ text }) => text !== '');
}
