/**
 * The two functions of the platform in an isolate. Both only exchange numbers and strings. `send`
 * sends something and returns an empty text, or the reason of a refusal; `compute` answers at once:
 * `=` and the result, or `!` and the fault.
 */
type Platform = {
  send(kind: string, number: number, name: string, text: string): string;
  compute(name: string, first: string, second: string, third: string): string;
};

/** The platform's functions, out of reach for plugins. */
export const platform: Platform = {
  send: () => 'not connected',
  compute: () => '!not connected',
};

// Saved before a plugin runs, so that its changes to built-in objects have no effect here.
const { stringify, parse } = JSON;

/**
 * Returns the JSON text of a value; `null` for values without JSON. Throws the errors of a plugin's
 * own `toJSON` or getter.
 */
export function toText(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** Parses JSON text. */
export function fromText(text: string): unknown {
  return parse(text) as unknown;
}

/**
 * Asks the process around the isolate for an immediate answer; throws an Error with its sentence if
 * it cannot.
 */
export function compute(name: string, first: string, second = '', third = ''): string {
  const answer = platform.compute(name, first, second, third);
  if (answer[0] === '!') throw new Error(answer.slice(1));
  return answer.slice(1);
}
