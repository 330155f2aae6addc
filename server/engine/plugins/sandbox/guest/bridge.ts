/**
 * The two functions of the platform in an isolate. Both take and give nothing but numbers and
 * strings. `send` hands something over and answers with an empty text, or with the reason why it
 * was refused; `compute` answers at once: `=` and the result, or `!` and the fault.
 */
type Platform = {
  send(kind: string, number: number, name: string, text: string): string;
  compute(name: string, first: string, second: string, third: string): string;
};

/** The platform's functions; nothing that a plugin can reach leads here. */
export const platform: Platform = {
  send: () => 'not connected',
  compute: () => '!not connected',
};

// Taken before a plugin runs, so that what it does to the built-in objects changes nothing here.
const { stringify, parse } = JSON;

/**
 * JSON text of a value; `null` for what JSON does not have. Throws what a plugin's own `toJSON` or
 * getter throws.
 */
export function toText(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** The value of JSON text. */
export function fromText(text: string): unknown {
  return parse(text) as unknown;
}

/**
 * Asks the process around the isolate for something that it answers at once; throws an Error with
 * its sentence when it cannot.
 */
export function compute(name: string, first: string, second = '', third = ''): string {
  const answer = platform.compute(name, first, second, third);
  if (answer[0] === '!') throw new Error(answer.slice(1));
  return answer.slice(1);
}
