/**
 * Parses a JSON text without rounding: whole numbers beyond 2^53 become `bigint`, all others
 * `number`. Throws a SyntaxError for text that is not JSON.
 */
export function parseExactJson(text: string): unknown {
  // The reviver takes ten times as long as a plain parse, and long numbers are rare.
  if (!long_number.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_name, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context!.source!)
      ? BigInt(context!.source!)
      : value,
  );
}

const long_number = /\d{16}/;

/** Writes JSON text with each `bigint` as a number; keys keep their order. */
export function writeExactJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'bigint'
      ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(inner))
      : inner,
  );
}
