const special = /[\\\t\n\r]/;
const escapes: { [character: string]: string } = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
};

/** Returns a text as a field of ClickHouse's tab-separated formats. */
export function tabField(text: string): string {
  if (!special.test(text)) return text;
  return text.replaceAll(/[\\\t\n\r]/g, (character) => escapes[character]!);
}
