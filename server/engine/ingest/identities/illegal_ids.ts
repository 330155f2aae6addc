import { parseJson } from '../../../platform/json/parse_json.ts';

// Texts that programs send for unknown users: a merge by them would join everybody into one person.
const in_any_case = [
  'anonymous',
  'distinct_id',
  'distinctid',
  'email',
  'false',
  'guest',
  'id',
  'not_authenticated',
  'true',
  'undefined',
];
/** The id that posthog-js gives each visitor of a page that may store nothing. */
export const cookieless_id = '$posthog_cookieless';
// `$erased` is the id of all erased persons' events.
const as_written = [
  '$erased',
  cookieless_id,
  '0',
  'NaN',
  'None',
  'none',
  'null',
  '[object Object]',
];

/** Longest distinct id of an event, in characters: nothing longer identifies anybody. */
export const id_characters_max = 400;

const plain = new Set(in_any_case.flatMap(withQuotes));
const exact = new Set(as_written.flatMap(withQuotes));

/** SDKs cut ids to this many characters. */
const cut_characters = 200;
const cut_structure = /^(?:\{"|\[["{[]|\[-?\d[\d.,eE+-]*$)/;

/**
 * Returns true if the id identifies nobody, so that it may not merge persons. Illegal ids are the
 * words of a closed list, also in quotes, and the JSON of an object or a list, which some programs
 * send instead of an id. Texts that no distinct id can be are illegal too: blank text, null
 * characters, more than 400 characters.
 */
export function isIllegalId(id: string): boolean {
  return (
    id.trim() === '' ||
    id.length > id_characters_max ||
    id.includes('\0') ||
    plain.has(id.toLowerCase()) ||
    exact.has(id) ||
    isStructure(id)
  );
}

/**
 * Returns true for the JSON of an object or list, complete or cut. Some real ids stand in brackets.
 */
function isStructure(id: string): boolean {
  if (!/^[{[]/.test(id)) return false;
  if (parseJson(id) !== undefined) return true;
  return id.length >= cut_characters && cut_structure.test(id);
}

function withQuotes(word: string): string[] {
  return [word, `'${word}'`, `"${word}"`];
}
