import { invalidPackage } from '../plugin.ts';

// In texts anything may stand from the space on, but for the quotation mark and the backslash.
const token =
  /[ \t\n\r]*(?:([{}[\],:])|("[ !#-[\]-\uFFFF]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uFFFF]*)*")|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
const space = /[ \t\n\r]*/y;

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | ', or end' | 'nothing more';

/**
 * The value of JSON text. Throws `PluginError` that names the file and, counted from 1, the line
 * and column at which the text stops being JSON.
 */
export function parseJson(text: string, file: string): unknown {
  const json = text.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(json);
  } catch (error) {
    const offset = faultOffset(json) ?? json.length;
    const before = json.slice(0, offset).split('\n');
    const at = { line: before.length, column: before.at(-1)!.length + 1 };
    const what =
      offset >= json.trimEnd().length
        ? 'it ends too early'
        : `${JSON.stringify(json[offset])} cannot stand here${hint(json, offset)}`;
    throw invalidPackage(`${file} is not JSON: line ${at.line}, column ${at.column}: ${what}.`, {
      file,
      ...at,
      cause: error,
    });
  }
}

/** What is JavaScript and no JSON, of what people write most. */
function hint(json: string, offset: number): string {
  if (json[offset] === '/') return ', JSON has no comments';
  return '}]'.includes(json[offset]!) && json.slice(0, offset).trimEnd().endsWith(',')
    ? ', take the comma before it away'
    : '';
}

/**
 * Where text stops being JSON: the offset of the first token that does not fit, the text's length
 * when it ends too early, undefined for JSON. `JSON.parse` gives the place for some faults only.
 */
export function faultOffset(text: string): number | undefined {
  const open: ('{' | '[')[] = [];
  let expected: Expected = 'value';
  let position = 0;
  for (;;) {
    token.lastIndex = position;
    const match = token.exec(text);
    if (match === null) {
      space.lastIndex = position;
      position += space.exec(text)![0].length;
      return position === text.length && expected === 'nothing more' ? undefined : position;
    }
    const next = step(expected, match[1] ?? (match[2] === undefined ? 'scalar' : 'text'), open);
    if (next === undefined) return position + match[0].search(/[^ \t\n\r]/);
    expected = next;
    position = token.lastIndex;
  }
}

/** What may follow the token; undefined when it may not stand here. Keeps the open brackets. */
function step(expected: Expected, part: string, open: ('{' | '[')[]): Expected | undefined {
  const after = () => (open.length === 0 ? 'nothing more' : ', or end');
  const isValuePlace = expected === 'value' || expected === 'value or ]';
  if (part === '{' || part === '[') {
    if (!isValuePlace) return undefined;
    open.push(part);
    return part === '{' ? 'name or }' : 'value or ]';
  }
  if (part === '}' || part === ']') {
    const mayEnd =
      expected === ', or end' || expected === (part === '}' ? 'name or }' : 'value or ]');
    if (!mayEnd || open.at(-1) !== (part === '}' ? '{' : '[')) return undefined;
    open.pop();
    return after();
  }
  if (part === ',')
    return expected === ', or end' ? (open.at(-1) === '{' ? 'name' : 'value') : undefined;
  if (part === ':') return expected === ':' ? 'value' : undefined;
  if (part === 'text' && (expected === 'name' || expected === 'name or }')) return ':';
  return isValuePlace ? after() : undefined;
}
