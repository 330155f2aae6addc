import { ScimRefused } from './refusal.ts';

/** One comparison: the attribute in lower case and without the URN of its schema. */
export type Comparison = { attribute: string; value: string | number | boolean | null };

/** An attribute with what selects among its values, such as `members[value eq "..."]`. */
export type Path = { attribute: string; selection: Comparison[] };

const length_max = 2_000;
const comparisons_max = 10;
/** A quoted text as JSON has it, a word, or a bracket. Linear, whatever is sent. */
const token_form = /\s*(?:("(?:[^"\\]|\\.)*")|([\w$:.+-]+)|([[\]]))/gy;
const core_urn = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/;

type Token = { text: string; kind: 'quoted' | 'word' | 'bracket' };

/**
 * The comparisons that must all hold: `a eq "x" and b eq "y"`, which is what directories ask.
 * Throws 400 `invalidFilter` for anything else.
 */
export function readFilter(text: string): Comparison[] {
  const tokens = tokensOf(text);
  const found = tokens === undefined ? undefined : comparisonsOf(tokens);
  if (found !== undefined && tokens?.length === 0) return found;
  throw new ScimRefused(
    400,
    'invalidFilter',
    'This filter is not understood: compare with eq, and join comparisons with and, for ' +
      'instance: userName eq "ada@example.com".',
  );
}

/** The path of a PATCH; throws 400 `invalidPath` for what is none. */
export function readPath(text: string): Path {
  const tokens = tokensOf(text);
  const found = tokens === undefined ? undefined : pathOf(tokens);
  if (found !== undefined && tokens?.length === 0) return found;
  throw new ScimRefused(400, 'invalidPath', `The path ${text.slice(0, 100)} is not understood.`);
}

/** The name of an attribute as it is compared. */
export function attributeOf(word: string): string {
  return word.toLowerCase().replace(core_urn, '');
}

function tokensOf(text: string): Token[] | undefined {
  if (text.length > length_max) return undefined;
  const tokens: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(token_form)) {
    end = match.index + match[0].length;
    const [, quoted, word, bracket = ''] = match;
    if (quoted !== undefined) tokens.push({ text: quoted, kind: 'quoted' });
    else if (word !== undefined) tokens.push({ text: word, kind: 'word' });
    else tokens.push({ text: bracket, kind: 'bracket' });
  }
  return text.slice(end).trim() === '' ? tokens : undefined;
}

/** Takes comparisons off the front of the tokens; undefined where they are none. */
function comparisonsOf(tokens: Token[]): Comparison[] | undefined {
  const found: Comparison[] = [];
  do {
    const path = pathOf(tokens);
    if (path === undefined || found.length >= comparisons_max) return undefined;
    const { attribute, selection } = path;
    // `emails[type eq "work"].value eq "..."`, and `emails[value eq "..."]` by itself.
    for (const one of selection)
      found.push({ ...one, attribute: `${attribute.split('.')[0]}.${one.attribute}` });
    if (tokens[0]?.text.toLowerCase() === 'eq') {
      tokens.shift();
      const value = valueOf(tokens.shift());
      if (value === undefined) return undefined;
      found.push({ attribute, value });
    } else if (selection.length === 0) return undefined;
  } while (isWord(tokens[0], 'and') && tokens.shift() !== undefined);
  return found;
}

/** Takes a path off the front of the tokens; what is selected may hold no selection itself. */
function pathOf(tokens: Token[]): Path | undefined {
  const name = tokens.shift();
  if (name?.kind !== 'word') return undefined;
  const attribute = attributeOf(name.text);
  if (tokens[0]?.text !== '[') return { attribute, selection: [] };
  tokens.shift();
  const selection: Comparison[] = [];
  do {
    const inner = tokens.shift();
    if (inner?.kind !== 'word' || !isWord(tokens.shift(), 'eq')) return undefined;
    const value = valueOf(tokens.shift());
    if (value === undefined || selection.length >= comparisons_max) return undefined;
    selection.push({ attribute: attributeOf(inner.text), value });
  } while (isWord(tokens[0], 'and') && tokens.shift() !== undefined);
  if (tokens.shift()?.text !== ']') return undefined;
  const sub = tokens[0];
  if (sub?.kind !== 'word' || !sub.text.startsWith('.')) return { attribute, selection };
  tokens.shift();
  return { attribute: `${attribute}${sub.text.toLowerCase()}`, selection };
}

function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === 'word' && token.text.toLowerCase() === word;
}

function valueOf(token: Token | undefined): Comparison['value'] | undefined {
  if (token === undefined || token.kind === 'bracket') return undefined;
  try {
    const text = token.kind === 'word' ? token.text.toLowerCase() : token.text;
    const value = JSON.parse(text) as Comparison['value'];
    // PostgreSQL has no such text.
    const is_odd = typeof value === 'string' && (value.includes('\0') || !value.isWellFormed());
    return is_odd ? undefined : value;
  } catch {
    return undefined;
  }
}
