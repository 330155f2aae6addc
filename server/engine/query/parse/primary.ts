import { parseInBrackets, parseList, parseTypeName } from './grammar.ts';
import type { Grammar } from './grammar.ts';
import { parseWindow } from './window.ts';
import type { Expression, ExpressionOf, Name, TypeName } from './tree.ts';

/** Most items, properties and elements in one chain of accesses. */
const links_max = 50;

/** Units of INTERVAL in the singular. */
const interval_units = [
  'MICROSECOND',
  'MILLISECOND',
  'SECOND',
  'MINUTE',
  'HOUR',
  'DAY',
  'WEEK',
  'MONTH',
  'QUARTER',
  'YEAR',
] as const;

/**
 * Reads an operand: a literal, a name, a call or an expression in brackets, and the accesses after
 * it.
 */
export function parsePrimary(grammar: Grammar): Expression {
  const { cursor } = grammar;
  let target = parseAtom(grammar);
  for (let links = 0; ; links += 1) {
    if (links > links_max)
      cursor.fail(`More than ${links_max} accesses follow each other: split the expression.`);
    if (cursor.acceptSign('[')) {
      const index = grammar.expression();
      cursor.expectSign(']');
      target = { kind: 'element', target, index, ...cursor.since(target.start) };
    } else if (cursor.acceptSign('.')) target = parseAccess(grammar, target);
    else return target;
  }
}

function parseAccess({ cursor }: Grammar, target: Expression): Expression {
  if (cursor.peek().kind !== 'number') {
    const name = cursor.anyName();
    return { kind: 'field', target, name, ...cursor.since(target.start) };
  }
  const position = Number(cursor.next().value);
  return { kind: 'tuple_element', target, position, ...cursor.since(target.start) };
}

function parseAtom(grammar: Grammar): Expression {
  const { cursor } = grammar;
  const token = cursor.peek();
  const { start } = token;
  if (token.kind === 'number') {
    cursor.next();
    return { kind: 'number', digits: token.value, ...cursor.since(start) };
  }
  if (token.kind === 'text') {
    cursor.next();
    return { kind: 'text', value: token.value, ...cursor.since(start) };
  }
  if (token.kind === 'sign') return parseBrackets(grammar);
  if (token.kind === 'word') {
    const special = parseKeyword(grammar, token.value.toUpperCase());
    if (special !== undefined) return special;
  }
  if (cursor.isCall()) return parseCall(grammar, cursor.anyName());
  if (!cursor.isName())
    cursor.fail(
      'Write an expression here; put a name that is a word of the language in backticks.',
    );
  return parseNamed(grammar);
}

function parseKeyword(grammar: Grammar, keyword: string): Expression | undefined {
  const { cursor } = grammar;
  const { start } = cursor.peek();
  if (keyword === 'NULL' || keyword === 'TRUE' || keyword === 'FALSE') {
    cursor.next();
    const span = cursor.since(start);
    return keyword === 'NULL'
      ? { kind: 'null', ...span }
      : { kind: 'boolean', value: keyword === 'TRUE', ...span };
  }
  if (keyword === 'CASE') return parseCase(grammar);
  if (keyword === 'CAST' && cursor.isSign('(', 1)) return parseCast(grammar);
  if (keyword === 'INTERVAL') return parseInterval(grammar);
  return undefined;
}

function parseBrackets(grammar: Grammar): Expression {
  const { cursor } = grammar;
  const { start } = cursor.peek();
  if (cursor.acceptSign('*')) return { kind: 'star', ...cursor.since(start) };
  if (cursor.acceptSign('[')) {
    const items = parseList(grammar, ']');
    return { kind: 'array', items, ...cursor.since(start) };
  }
  if (!cursor.acceptSign('(')) cursor.fail('Write an expression here.');
  const inside = parseInBrackets(grammar);
  if ('select' in inside) return { kind: 'select', select: inside.select, ...cursor.since(start) };
  const { items } = inside;
  if (cursor.isSign('->'))
    return parseLambda(
      grammar,
      items.map((item) => parameterName(grammar, item)),
      start,
    );
  if (items.length === 0) cursor.fail('Empty brackets have no value: write an expression inside.');
  return items.length === 1 ? items[0]! : { kind: 'tuple', items, ...cursor.since(start) };
}

function parameterName({ cursor }: Grammar, item: Expression): Name {
  const [name, ...more] = item.kind === 'column' ? item.parts : [];
  if (name === undefined || more.length > 0)
    return cursor.fail('Write the names of the parameters before ->, as in (x, y) -> x + y.');
  return name;
}

function parseLambda(grammar: Grammar, parameters: Name[], start: number): Expression {
  grammar.cursor.expectSign('->');
  const body = grammar.expression();
  return { kind: 'lambda', parameters, body, ...grammar.cursor.since(start) };
}

/** Reads a column, `table.*`, a call or a lambda of one parameter. */
function parseNamed(grammar: Grammar): Expression {
  const { cursor } = grammar;
  const first = cursor.name('a column');
  if (cursor.isSign('->')) return parseLambda(grammar, [first], first.start);
  const parts = [first];
  while (cursor.isSign('.') && cursor.peek(1).kind !== 'number') {
    cursor.next();
    if (parts.length === 1 && cursor.acceptSign('*'))
      return { kind: 'star', table: first, ...cursor.since(first.start) };
    parts.push(cursor.anyName());
  }
  if (cursor.isSign('(')) cursor.fail('Functions have no table or database before their name.');
  return { kind: 'column', parts, ...cursor.since(first.start) };
}

function parseCall(grammar: Grammar, name: Name): Expression {
  const { cursor } = grammar;
  cursor.expectSign('(');
  if (/^extract$/i.test(name.text) && cursor.isWord('FROM', 1))
    cursor.fail('EXTRACT ... FROM is not part of the language: write toYear(x), toMonth(x) ...');
  if (/^trim$/i.test(name.text) && cursor.peek(1).kind === 'text')
    cursor.fail(
      'TRIM ... FROM is not part of the language: trim(x) takes spaces away, ' +
        'JSONExtractString(x) the quotes of JSON.',
    );
  let parameters: Expression[] | undefined;
  let distinct = cursor.acceptWords('DISTINCT');
  let args = parseList(grammar, ')');
  if (!distinct && cursor.acceptSign('(')) {
    parameters = args;
    distinct = cursor.acceptWords('DISTINCT');
    args = parseList(grammar, ')');
  }
  const unit = interval_units.find((one) => `TOINTERVAL${one}` === name.text.toUpperCase());
  const [count, ...others] = args;
  if (unit !== undefined && count !== undefined && others.length === 0)
    return { kind: 'interval', count, unit, ...cursor.since(name.start) };
  const call: ExpressionOf<'call'> = {
    kind: 'call',
    name,
    ...(parameters ? { parameters } : {}),
    args,
    distinct,
    start: name.start,
    end: name.end,
  };
  const nulls = (['IGNORE', 'RESPECT'] as const).find((one) => cursor.acceptWords(one, 'NULLS'));
  if (nulls !== undefined) call.nulls = nulls;
  if (cursor.acceptWords('FILTER')) {
    cursor.expectSign('(');
    cursor.expectWord('WHERE');
    call.filter = grammar.expression();
    cursor.expectSign(')');
  }
  if (cursor.acceptWords('OVER'))
    call.window = cursor.isSign('(')
      ? parseWindow(grammar)
      : { name: cursor.name('a window'), partition_by: [], order_by: [] };
  return { ...call, ...cursor.since(name.start) };
}

function parseCase(grammar: Grammar): Expression {
  const { cursor } = grammar;
  const { start } = cursor.next();
  const operand = cursor.isWord('WHEN') ? undefined : grammar.expression();
  const branches: ExpressionOf<'case'>['branches'] = [];
  cursor.expectWord('WHEN');
  do {
    const when = grammar.expression();
    cursor.expectWord('THEN');
    branches.push({ when, result: grammar.expression() });
  } while (cursor.acceptWords('WHEN'));
  const otherwise = cursor.acceptWords('ELSE') ? grammar.expression() : undefined;
  cursor.expectWord('END');
  return {
    kind: 'case',
    ...(operand ? { operand } : {}),
    branches,
    ...(otherwise ? { otherwise } : {}),
    ...cursor.since(start),
  };
}

/** Reads CAST(x AS T), or CAST(x, 'T') as ClickHouse also writes it. */
function parseCast(grammar: Grammar): Expression {
  const { cursor } = grammar;
  const { start } = cursor.next();
  cursor.expectSign('(');
  const operand = grammar.expression();
  let type: TypeName;
  if (cursor.acceptSign(',')) {
    const { kind, value, start: from, end } = cursor.peek();
    if (kind !== 'text' || !/^\w+$/.test(value))
      cursor.fail(
        "Write the name of a type in quotes, as in CAST(x, 'Int64'), or " +
          'CAST(x AS Nullable(Int64)).',
      );
    cursor.next();
    type = { name: value, items: [], start: from, end };
  } else {
    cursor.expectWord('AS');
    type = parseTypeName(grammar);
  }
  cursor.expectSign(')');
  return { kind: 'cast', operand, type, ...cursor.since(start) };
}

/** Reads INTERVAL 1 DAY, INTERVAL '1 day'. */
function parseInterval(grammar: Grammar): Expression {
  const { cursor } = grammar;
  const { start } = cursor.next();
  const token = cursor.peek();
  const written =
    token.kind === 'text' ? /^\s*(\d{1,9})\s+([A-Za-z]+)\s*$/.exec(token.value) : null;
  if (written !== null) {
    cursor.next();
    const count: Expression = {
      kind: 'number',
      digits: written[1]!,
      start: token.start,
      end: token.end,
    };
    return { kind: 'interval', count, unit: unitOf(grammar, written[2]!), ...cursor.since(start) };
  }
  const count = grammar.expression();
  const unit = unitOf(grammar, cursor.peek().value);
  cursor.next();
  return { kind: 'interval', count, unit, ...cursor.since(start) };
}

function unitOf({ cursor }: Grammar, word: string): string {
  const upper = word.toUpperCase();
  const unit = interval_units.find((known) => known === upper || `${known}S` === upper);
  if (unit === undefined) return cursor.fail(`Write a unit here: ${interval_units.join(', ')}.`);
  return unit;
}
