/**
 * A relation of the texts as one column, for a list that may be longer than a parameter may be. No
 * text becomes one of the statement: they travel as base64, whose alphabet needs no quoting, and as
 * one literal, since thousands of them take longer to parse than to look up. A statement with a
 * long list needs `inline_settings`.
 */
export function inlineTexts(texts: string[], name: string): string {
  const encoded = texts.map((text) => Buffer.from(text).toString('base64')).join(',');
  const all = `splitByChar(',', '${encoded}')`;
  return `SELECT base64Decode(one) AS ${name}
    FROM (SELECT arrayJoin(${texts.length === 0 ? 'emptyArrayString()' : all}) AS one)`;
}

/** Lets a statement be as long as its lists make it. */
export const inline_settings = { max_query_size: '16000000' };
