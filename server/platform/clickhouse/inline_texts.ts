/**
 * Returns a relation of the texts as one column, for a list that exceeds the size of a parameter.
 * No text becomes part of the statement: they are base64, whose alphabet needs no quoting, in one
 * literal, since parsing thousands of them takes longer than the look-up. A statement with a long
 * list needs `inline_settings`.
 */
export function inlineTexts(texts: string[], name: string): string {
  const encoded = texts.map((text) => Buffer.from(text).toString('base64')).join(',');
  const all = `splitByChar(',', '${encoded}')`;
  return `SELECT base64Decode(one) AS ${name}
    FROM (SELECT arrayJoin(${texts.length === 0 ? 'emptyArrayString()' : all}) AS one)`;
}

/** Allows statements with long lists. */
export const inline_settings = { max_query_size: '16000000' };
