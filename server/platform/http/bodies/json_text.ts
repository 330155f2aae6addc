import { notJson, unparsable } from '../errors.ts';
import type { Violation } from '../errors.ts';
import { attrOf } from './violations.ts';
import { findJsonFault } from '../../json/json_scan.ts';
import { parseJson } from '../../json/parse_json.ts';

const depth_max = 64;
/**
 * Most names and values in a body. Ten times as many as any body of the API needs; a million of
 * them would block the process for a second.
 */
const usual_values_max = 10_000;
const [quote, backslash, comma, openBrace, closeBrace, openBracket, closeBracket] = [
  0x22, 0x5c, 0x2c, 0x7b, 0x7d, 0x5b, 0x5d,
];
const decoder = new TextDecoder('utf-8', { fatal: true });
// Escapes that can encode NUL or a lone surrogate; UTF-8 JSON cannot contain raw ones.
const suspicious = /\\u(0000|[dD][89a-fA-F])/;

/** A parsed body, with the violations of texts that no store can keep. */
export type ReadJson = { value: unknown; unstorable: Violation[] };

/**
 * Parses the JSON text of a body; `unstorable` lists texts and names like `unstorableIn`. Throws
 * `parse_error` for text that is not UTF-8 JSON, is nested deeper than 64 levels or contains more
 * values than the route accepts, by default 10,000.
 */
export function readJson(bytes: Uint8Array, values_max = usual_values_max): ReadJson {
  refuseMonstrous(bytes, values_max);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw unparsable('The body is not UTF-8 text.');
  }
  const value = parseJson(text);
  if (value === undefined) throw notJson(findJsonFault(text)!);
  return { value, unstorable: suspicious.test(text) ? unstorableIn(value) : [] };
}

/**
 * Returns a violation for each text or name that contains NUL or half a surrogate pair, which
 * PostgreSQL could not store. `prefix` is the value's place in the body as a JSON pointer.
 */
export function unstorableIn(value: unknown, prefix = ''): Violation[] {
  return [...unstorable(value, prefix)];
}

/**
 * Throws for text that is nested too deeply or contains too many values, before it is parsed. Only
 * checks brackets and commas outside of strings. It is linear in the size, because hostile text
 * would exhaust a recursive reader's stack, and stops after the first value too many.
 */
function refuseMonstrous(bytes: Uint8Array, values_max: number): void {
  let depth = 0;
  let values = 1;
  let inText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (inText) {
      if (byte === backslash) at += 1;
      else if (byte === quote) inText = false;
    } else if (byte === quote) inText = true;
    else if (byte === comma) values += 1;
    else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      values += 1;
      if (depth > depth_max)
        throw unparsable(`The body is nested deeper than ${depth_max} levels.`);
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
    if (values > values_max) throw unparsable(`The body holds more than ${values_max} values.`);
  }
}

function* unstorable(value: unknown, pointer: string): Generator<Violation> {
  if (typeof value === 'string') yield* unstorableText(value, pointer);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    yield* unstorableText(name, pointer);
    yield* unstorable(
      inner,
      `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('\0', '')}`,
    );
  }
}

function* unstorableText(text: string, pointer: string): Generator<Violation> {
  if (text.includes('\0'))
    yield {
      attr: attrOf(pointer),
      code: 'null_characters_not_allowed',
      detail: 'Null characters are not allowed.',
    };
  else if (!text.isWellFormed())
    yield {
      attr: attrOf(pointer),
      code: 'invalid_input',
      detail: 'Holds half of a surrogate pair, which is not a character.',
    };
}
