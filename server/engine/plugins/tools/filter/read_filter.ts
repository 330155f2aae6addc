import type { Filter, FilterCondition, FilterGroup, FilterOperator } from './filter.ts';

/** The kinds of calls that an event can be. */
const call_types = ['track', 'identify', 'page', 'screen', 'group', 'alias'];

/** The fields of an event that are texts. */
const text_fields =
  'type event name category userId anonymousId groupId previousId messageId'.split(' ');
/** The fields of an event that have nested fields. */
const trees = ['properties', 'traits', 'context'];

const length_max = 10_000;
const depth_max = 10;
const signs: Record<string, FilterOperator> = {
  '=': 'is',
  '==': 'is',
  '!=': 'is_not',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};

class FilterFault extends Error {}

type Token = { kind: 'mark' | 'text' | 'word'; text: string };

/**
 * Reads a filter in FQL, the language of mappings: `type = "track" and event != "x"`. It accepts
 * three forms that the library's FQL does not match: names with `$`, positions in lists, and nested
 * groups. Returns a sentence for an invalid filter.
 */
export function readFilter(text: string): FilterGroup | string {
  if (text.length > length_max) return `The filter is longer than ${length_max} characters.`;
  try {
    const tokens = tokensOf(text);
    if (tokens.length === 0) throw new FilterFault('is empty. Write type = "track", for example.');
    const group = readGroup(tokens, 0);
    if (tokens.length > 0) throw new FilterFault(`has a ")" too many.`);
    return 'filters' in group ? group : { match: 'all', filters: [group] };
  } catch (error) {
    if (error instanceof FilterFault) return `The filter ${error.message}`;
    throw error;
  }
}

// White space, a mark, a text in quotes, a word. Backslashes escape.
const token =
  /\s+|(?<mark>[(),]|[=!<>]=|[=!<>])|"(?<double>(?:\\[^]|[^"\\])*)"|'(?<single>(?:\\[^]|[^'\\])*)'|(?<word>(?:\\[^]|[^\s(),=!<>"'\\])+)/gy;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const { 0: all, groups = {} } of text.matchAll(token)) {
    end += all.length;
    const { mark, double, single, word } = groups;
    const quoted = double ?? single;
    if (mark !== undefined) tokens.push({ kind: 'mark', text: mark });
    if (word !== undefined) tokens.push({ kind: 'word', text: word });
    if (quoted !== undefined)
      tokens.push({ kind: 'text', text: quoted.replaceAll(/\\(["'\\])/g, '$1') });
  }
  if (end < text.length)
    throw new FilterFault(`cannot be read from ${JSON.stringify(text.slice(end, end + 20))} on.`);
  return tokens;
}

/** Consumes a group from the tokens, up to their end or to a `)`. */
function readGroup(tokens: Token[], depth: number): Filter {
  if (depth > depth_max) throw new FilterFault(`has groups in more than ${depth_max} others.`);
  const filters = [readOne(tokens, depth)];
  const words = new Set<string>();
  for (;;) {
    const [next] = tokens;
    if (next === undefined || next.text === ')') break;
    const word = next.kind === 'text' ? '' : next.text.toLowerCase();
    if (!['and', 'or', ','].includes(word)) throw missingQuotes(filters.at(-1)!, next);
    words.add(word === 'or' ? 'or' : 'and');
    if (words.size > 1)
      throw new FilterFault('has both "and" and "or". Put one of them in parentheses.');
    tokens.shift();
    filters.push(readOne(tokens, depth));
  }
  const [only] = filters;
  if (filters.length === 1 && only !== undefined) return only;
  return { match: words.has('or') ? 'any' : 'all', filters };
}

function missingQuotes(before: Filter, { text }: Token): FilterFault {
  const value = 'value' in before ? before.value : undefined;
  return typeof value === 'string'
    ? new FilterFault(`needs "and" or "or" before ${text}, or quotes around "${value} ${text}".`)
    : new FilterFault(`needs "and" or "or" before ${text}.`);
}

function readOne(tokens: Token[], depth: number): Filter {
  const first = take(tokens, 'a condition');
  if (first.kind === 'mark' && first.text === '(') {
    const group = readGroup(tokens, depth + 1);
    expect(tokens, ')');
    return group;
  }
  const isNot = first.kind === 'mark' && first.text === '!';
  const named = isNot ? take(tokens, 'contains or match') : first;
  const isCall =
    ['contains', 'match'].includes(named.text) &&
    tokens[0]?.kind === 'mark' &&
    tokens[0].text === '(';
  if (isNot && !isCall)
    throw new FilterFault('may have "!" before contains() and match() alone. Use != for a value.');
  if (named.kind !== 'word') throw new FilterFault(`has ${named.text} where a field is expected.`);
  return isCall ? readCall(tokens, named.text, isNot) : readComparison(tokens, named.text);
}

/** Reads `contains(path, "text")`, `match(path, "text*")`, `match(path, "*text")`. */
function readCall(tokens: Token[], name: string, isNot: boolean): FilterCondition {
  expect(tokens, '(');
  const path = pathOf(take(tokens, 'a field').text);
  expect(tokens, ',');
  const { text } = take(tokens, 'a text');
  expect(tokens, ')');
  const negated = (operator: 'contains' | 'starts_with' | 'ends_with') =>
    isNot ? (`not_${operator}` as const) : operator;
  if (name === 'contains') return { path, operator: negated('contains'), value: text };
  if (text.endsWith('*'))
    return { path, operator: negated('starts_with'), value: text.slice(0, -1) };
  if (text.startsWith('*')) return { path, operator: negated('ends_with'), value: text.slice(1) };
  throw new FilterFault('needs a * at the beginning or the end of the text of match().');
}

function readComparison(tokens: Token[], name: string): FilterCondition {
  const path = pathOf(name);
  const sign = take(tokens, 'an operator');
  let operator = sign.kind === 'mark' ? signs[sign.text] : undefined;
  if (operator === undefined)
    throw new FilterFault(`needs one of ${Object.keys(signs).join(' ')} after ${name}.`);
  // The library accepts `= =`, and matches nothing.
  if (sign.text === '=' && tokens[0]?.kind === 'mark' && tokens[0].text === '=') tokens.shift();
  const given = take(tokens, 'a value');
  if (given.kind === 'mark') throw new FilterFault(`needs a value after ${name} ${sign.text}.`);
  let value = given.kind === 'text' ? given.text : plainValue(given.text);
  if (value === null) {
    if (operator !== 'is' && operator !== 'is_not')
      throw new FilterFault(`can compare null by = and != alone.`);
    operator = operator === 'is' ? 'not_exists' : 'exists';
  } else if (text_fields.includes(path[0]!)) value = String(value);
  if (['<', '<=', '>', '>='].includes(operator) && !Number.isFinite(Number(value)))
    throw new FilterFault(`needs a number after ${name} ${operator}.`);
  if (path[0] === 'type' && typeof value === 'string') value = typeOf(value, operator);
  return { path, operator, value };
}

/** Returns the kind as events have it. */
function typeOf(value: string, operator: FilterOperator): string {
  const known = call_types.find((one) => one === value.toLowerCase());
  if (known === undefined && operator === 'is')
    throw new FilterFault(`names the type "${value}". There are ${call_types.join(', ')}.`);
  return known ?? value;
}

/** Returns the value of an unquoted word. */
function plainValue(word: string): FilterCondition['value'] {
  if (word === 'true' || word === 'false') return word === 'true';
  if (word === 'null') return null;
  return /^[+-]?\d+(\.\d+)?$/.test(word) ? Number(word) : word.replaceAll(/\\([^])/g, '$1');
}

function pathOf(word: string): string[] {
  // A backslash makes a dot, a bracket or any other character part of the name.
  const parts = [...word.matchAll(/(?:\\[^]|[^\\.[\]])+/g)].map(([part]) =>
    part.replaceAll(/\\([^])/g, '$1'),
  );
  const [field = '', ...names] = parts;
  if (text_fields.includes(field) && names.length === 0) return parts;
  if (trees.includes(field) && names.length > 0) return parts;
  throw new FilterFault(
    `names ${word}. A field is one of ${text_fields.join(', ')}, or ` +
      `${trees.map((tree) => `${tree}.name`).join(', ')}.`,
  );
}

function take(tokens: Token[], what: string): Token {
  const next = tokens.shift();
  if (next === undefined) throw new FilterFault(`ends where ${what} is expected.`);
  return next;
}

function expect(tokens: Token[], mark: string): void {
  const next = tokens.shift();
  if (next?.kind !== 'mark' || next.text !== mark)
    throw new FilterFault(
      `needs ${JSON.stringify(mark)} ${next === undefined ? 'at its end' : `before ${next.text}`}.`,
    );
}
