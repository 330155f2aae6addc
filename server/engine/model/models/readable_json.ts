// ClickHouse's reader gives up a whole document for one number beyond 64 bits or half of a
// surrogate pair. In such documents numbers become strings that begin with a mark, and half pairs
// U+FFFD; they begin with a space, which JSON allows and which tells them from those that are read
// as they are.
const mark = '\\\\\\\\u0001\\\\\\\\u0002\\\\\\\\u0001';

/**
 * Returns ClickHouse's text of a JSON document that ClickHouse's reader accepts, however large its
 * numbers are. Values are taken out of it by `extractText`.
 */
export function readableJson(document: string): string {
  return `if(isValidJSON(${document}), ${document}, ${withMarkedNumbers(document)})`;
}

/** Returns the same with the numbers of every document as strings with a mark, as written. */
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
 * Returns ClickHouse's text of a JSON document whose numbers are strings behind a mark, so that
 * none loses a digit. `exactValue` takes the mark out of what is extracted from it.
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

/** Numbers of a document that was made readable, as they were. */
export function exactValue(extracted: string): string {
  return (
    `replaceRegexpAll(replaceAll(${extracted}, '\\x01\\x02\\x01', ''), ` +
    `'"\\\\\\\\u0001\\\\\\\\u0002\\\\\\\\u0001([^"]*)"', '\\\\1')`
  );
}

/**
 * ClickHouse text, Nullable(String), of the value at a path of a readable document: a string
 * without its quotes, numbers and booleans as their text, objects and arrays as JSON text; NULL
 * where there is nothing or null.
 */
export function extractText(readable: string, path: string[]): string {
  const extracted = `JSONExtract(${[readable, ...path].join(', ')}, 'Nullable(String)')`;
  return `if(startsWith(${readable}, ' '), ${exactValue(extracted)}, ${extracted})`;
}

/**
 * ClickHouse text of a value of an object, `json` as JSON text and `text` as `extractText` gives
 * it; empty where there is none. The document is made readable only where ClickHouse's reader finds
 * nothing because it gives the document up; `mayHave` is a condition that holds wherever the key is
 * there, and spares the others that question.
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
 * ClickHouse condition that a document has this value at a key: a string as it reads, anything else
 * as its JSON text. `key` and `value` are ClickHouse text too.
 */
export function hasValue(
  document: string,
  { key, value, is_string }: { key: string; value: string; is_string: boolean },
): string {
  const readable = readableJson(document);
  // A number that became a string begins with a mark, which sets it apart.
  return is_string
    ? `(JSONType(${readable}, ${key}) = 'String' AND ` +
        `JSONExtractString(${readable}, ${key}) = ${value})`
    : `${exactValue(`JSONExtractRaw(${readable}, ${key})`)} = ${value}`;
}
