import { ScimRefused } from './refusal.ts';

/** A comparison; its attribute is in lower case, without the URN of its schema. */
export type Comparison = { attribute: string; value: string | number | boolean | null };

/** An attribute with a selection among its values, such as `members[value eq "..."]`. */
export type Path = { attribute: string; selection: Comparison[] };

const length_max = 2_000;
const comparisons_max = 10;
/** A quoted text in JSON's form, a word, or a bracket. Takes linear time for any input. */
const token_form = /\s*(?:("(?:[^"\\]|\\.)*")|([\w$:.+-]+)|([[\]]))/gy;
const core_urn = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/;

type Token = { text: string; kind: 'quoted' | 'word' | 'bracket' };

/**
 * Reads comparisons that must all be true: `a eq "x" and b eq "y"`, the form that directories send.
 * Throws 400 `invalidFilter` for anything else.
 */
export function readFilter(text: string): Comparison[] {
  const tokens = tokensOf(text);
  const found = tokens === undefined ? undefined : comparisonsOf(tokens);
  if (found !== undefined && tokens?.length === 0) return found;
  throw new ScimRefused(
    400,
    'invalidFilter',
    'This filter is not supported: compare with eq, and join comparisons with and, such as ' +
      'userName eq "ada@example.com".',
  );
}

/** Reads the path of a PATCH; throws 400 `invalidPath` for an invalid one. */
export function readPath(text: string): Path {
  const tokens = tokensOf(text);
  const found = tokens === undefined ? undefined : pathOf(tokens);
  if (found !== undefined && tokens?.length === 0) return found;
  throw new ScimRefused(400, 'invalidPath', `The path ${text.slice(0, 100)} is not supported.`);
}

/** Returns the name of an attribute in its comparable form. */
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

/** Reads comparisons from the start of the tokens; undefined if there are none. */
function comparisonsOf(tokens: Token[]): Comparison[] | undefined {
  const found: Comparison[] = [];
  do {
    const path = pathOf(tokens);
    if (path === undefined || found.length >= comparisons_max) return undefined;
    const { attribute, selection } = path;
    // Accepts `emails[type eq "work"].value eq "..."`, and `emails[value eq "..."]` alone.
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

/** Reads a path from the start of the tokens; a selection may not contain another one. */
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
    // PostgreSQL cannot store such a text.
    const is_odd = typeof value === 'string' && (value.includes('\0') || !value.isWellFormed());
    return is_odd ? undefined : value;
  } catch {
    return undefined;
  }
}
