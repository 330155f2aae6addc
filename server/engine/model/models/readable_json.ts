// ClickHouse's JSON reader rejects a whole document because of one number beyond 64 bits or half of
// a surrogate pair. In such documents, numbers become strings with a leading mark, and half pairs
// become U+FFFD. They begin with a space, which JSON allows and which identifies them.
const mark = '\\\\\\\\u0001\\\\\\\\u0002\\\\\\\\u0001';

/**
 * Returns ClickHouse text for a JSON document that ClickHouse's reader accepts, whatever the size
 * of its numbers. `extractText` reads values from it.
 */
export function readableJson(document: string): string {
  return `if(isValidJSON(${document}), ${document}, ${withMarkedNumbers(document)})`;
}

/** Returns the same text, with the numbers of every document as marked strings, digit by digit. */
export function withMarkedNumbers(document: string): string {
  const quoted = exactDocument(document);
  const aside =
    `replaceRegexpAll(replaceAll(${quoted}, '\\\\\\\\', '\\x01'), ` +
    `'\\\\\\\\u([dD][89abAB][0-9a-fA-F]{2})\\\\\\\\u([dD][c-fC-F][0-9a-fA-F]{2})', ` +
    `'\\x02\\\\1\\x02\\\\2')`;
  const half = `'\\\\\\\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\\\\\\\\ufffd'`;
  const lone = `replaceRegexpAll(${aside}, ${half})`;
  return `concat(' ', replaceAll(replaceAll(${lone}, '\\x02', '\\\\u'), '\\x01', '\\\\\\\\'))`;
}

/**
 * Returns ClickHouse text for a JSON document whose numbers are strings behind a mark, so that no
 * number loses a digit. `exactValue` removes the mark from extracted values.
 */
export function exactDocument(document: string): string {
  const numbers =
    `replaceRegexpAll(${document}, ` +
    `'("(?:[^"\\\\\\\\]|\\\\\\\\.)*")|(-?[0-9]+(?:[.][0-9]+)?(?:[eE][+-]?[0-9]+)?)', ` +
    `'\\\\1\\x01\\\\2\\x01')`;
  return (
    `replaceRegexpAll(replaceAll(${numbers}, '\\x01\\x01', ''), '\\x01([^\\x01]*)\\x01', ` +
    `'"${mark}\\\\1"')`
  );
}

/** Returns the original numbers of values extracted from a readable document. */
export function exactValue(extracted: string): string {
  return (
    `replaceRegexpAll(replaceAll(${extracted}, '\\x01\\x02\\x01', ''), ` +
    `'"\\\\\\\\u0001\\\\\\\\u0002\\\\\\\\u0001([^"]*)"', '\\\\1')`
  );
}

/**
 * Returns ClickHouse text, Nullable(String), for the value at a path of a readable document. A
 * string has no quotes, numbers and booleans are text, objects and arrays are JSON. A missing value
 * or null is NULL.
 */
export function extractText(readable: string, path: string[]): string {
  const extracted = `JSONExtract(${[readable, ...path].join(', ')}, 'Nullable(String)')`;
  return `if(startsWith(${readable}, ' '), ${exactValue(extracted)}, ${extracted})`;
}

/**
 * Returns ClickHouse text for a value of an object, `json` as JSON text and `text` as from
 * `extractText`; empty if it is missing. The document is repaired only if ClickHouse's reader
 * rejects it. `mayHave` is a condition that every document with the key meets; other documents skip
 * the check.
 */
export function extractValue(
  document: string,
  { key, type, mayHave }: { key: string; type: 'json' | 'text'; mayHave: string },
): string {
  const extract = type === 'json' ? 'JSONExtractRaw' : 'JSONExtractString';
  const found = `${extract}(${document}, ${key})`;
  const careful =
    type === 'json'
      ? exactValue(`JSONExtractRaw(${readableJson(document)}, ${key})`)
      : `ifNull(${extractText(readableJson(document), [key])}, '')`;
  return `if(${found} = '' AND ${mayHave} AND NOT isValidJSON(${document}), ${careful}, ${found})`;
}

/**
 * Returns a ClickHouse condition that a document has this value at a key: a string as it reads,
 * anything else as its JSON text. `key` and `value` are ClickHouse text too.
 */
export function hasValue(
  document: string,
  { key, value, is_string }: { key: string; value: string; is_string: boolean },
): string {
  const readable = readableJson(document);
  // A number that became a string has a leading mark, which a real string lacks.
  return is_string
    ? `(JSONType(${readable}, ${key}) = 'String' AND ` +
        `JSONExtractString(${readable}, ${key}) = ${value})`
    : `${exactValue(`JSONExtractRaw(${readable}, ${key})`)} = ${value}`;
}
