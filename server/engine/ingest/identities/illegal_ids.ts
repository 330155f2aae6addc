import { parseJson } from '../../../platform/json/parse_json.ts';

// Texts that programs send where they know nobody: to merge by them would make one person of
// everybody.
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
/** The id that posthog-js gives each visitor of a page on which it may store nothing. */
export const cookieless_id = '$posthog_cookieless';
// Under `$erased` stand the events of all persons who were erased.
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

/** Longest distinct id that an event can have, in characters: nothing longer names anybody. */
export const id_characters_max = 400;

const plain = new Set(in_any_case.flatMap(withQuotes));
const exact = new Set(as_written.flatMap(withQuotes));

/** Ids of SDKs are cut to so many characters. */
const cut_characters = 200;
const cut_structure = /^(?:\{"|\[["{[]|\[-?\d[\d.,eE+-]*$)/;

/**
 * Is this no id of anybody, so that nobody is merged by it? Such are the words of a closed list,
 * also in quotes; the JSON of an object or a list, which programs send in the place of an id; and
 * what no event can have for a distinct id: blank text, null characters, more than 400 characters.
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

/** Is it the JSON of an object or list, whole or cut? Some ids stand in brackets all the same. */
function isStructure(id: string): boolean {
  if (!/^[{[]/.test(id)) return false;
  if (parseJson(id) !== undefined) return true;
  return id.length >= cut_characters && cut_structure.test(id);
}

function withQuotes(word: string): string[] {
  return [word, `'${word}'`, `"${word}"`];
}
