import { apply, applyKnown } from './apply.ts';
import { choose, coalesce, condition } from './choose.ts';
import { align, coerce } from '../values/coerce.ts';
import { convert } from './convert.ts';
import { Fault } from '../fault.ts';
import { readLiteral } from './arguments/literal_argument.ts';
import { findAggregate, findFunction, spellFunction } from '../functions/find.ts';
import { resolveAggregate } from './aggregate.ts';
import { refuseNulls, resolveWindowCall } from './window.ts';
import { unknownFunction } from './unknown_function.ts';
import type { Expression, ExpressionOf } from '../parse/tree.ts';
import { compose } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { isTextual, describeType, typeOf } from '../values/value_type.ts';
import type { Kind } from '../values/value_type.ts';
import { valueOf } from './scope.ts';
import type { Scope } from './scope.ts';

/**
 * Returns the value of a call: an aggregate, a window function, or a function of one row. Throws a
 * `Fault` for an unlisted function.
 */
export function resolveCall(scope: Scope, written: ExpressionOf<'call'>): Value {
  const name = spellFunction(written.name.text);
  const node = { ...written, name: { ...written.name, text: name } };
  if (node.window !== undefined) return resolveWindowCall(scope, node);
  if (node.nulls !== undefined) throw refuseNulls(node);
  const aggregate = findAggregate(name);
  if (aggregate !== undefined) return resolveAggregate(scope, node, aggregate);
  const known = findFunction(name);
  if (known === undefined) throw unknownFunction(node);
  if (known.use === 'window')
    throw new Fault(`\`${name}\` needs OVER (... ORDER BY ...) behind it.`, node.name);
  if (node.distinct || node.filter !== undefined || node.parameters !== undefined)
    throw new Fault(
      `\`${name}\` is no aggregate: DISTINCT, FILTER and a second pair of brackets are not for it.`,
      node,
    );
  if (node.args.some((arg) => arg.kind === 'star'))
    throw new Fault(`\`${name}\` takes values: name the columns instead of *.`, node);
  const cast = /^cast (\w+)( or null)?$/.exec(known.definition.engine ?? '');
  if (cast !== null)
    return resolveConversion(scope, node, {
      signature: known.definition.signature,
      kind: cast[1] as Kind,
      or_null: cast[2] !== undefined,
    });
  const special = specials[name];
  if (special !== undefined) return special(scope, node);
  return applyKnown(
    scope,
    known,
    node.args.map((arg) => ({ node: arg })),
    { start: node.start, end: node.end },
  );
}

function resolveConversion(
  scope: Scope,
  node: ExpressionOf<'call'>,
  { signature, kind, or_null }: { signature: string; kind: Kind; or_null: boolean },
): Value {
  const [arg, ...others] = node.args;
  const isDated = kind === 'timestamp' || kind === 'date';
  const scale = others[0]?.kind === 'number' ? others[0].digits : '';
  if (node.name.text === 'toDateTime64' && /^\d$/.test(scale)) others.shift();
  const zone = isDated ? others.shift() : undefined;
  if (arg === undefined || others.length > 0)
    throw new Fault(
      `\`${node.name.text}\` takes ${signature}, not ${node.args.length} arguments.`,
      node,
    );
  const given = valueOf(scope, arg);
  // A property that does not fit is NULL; any other such text fails the run.
  const value: Value =
    or_null && isTextual(given.type.kind)
      ? { ...given, type: { kind: 'property', nullable: true, items: [] } }
      : given;
  if (zone === undefined) return convert(scope.context, value, kind, node);
  const instant = inZone(scope, value, zone, node);
  return kind === 'date' ? convert(scope.context, instant, kind, node) : instant;
}

/**
 * Returns a value as a timestamp of a zone. `toDateTime` reads a text without a zone of its own in
 * that zone, `toDate` reads it as UTC.
 */
function inZone(scope: Scope, value: Value, zone: Expression, node: ExpressionOf<'call'>): Value {
  const { writer } = scope.context;
  const name = node.name.text;
  const named = readLiteral(writer, name, '#zone', zone, undefined);
  if (name.startsWith('toDateTime') && isTextual(value.type.kind))
    return apply(
      scope,
      `parseDateTimeBestEffort${value.type.kind === 'property' ? 'OrNull' : ''}`,
      [value, named.value],
      node,
    );
  const instant = coerce(writer, value, 'timestamp');
  if (instant === undefined)
    throw new Fault(`\`${name}\` with a time zone takes a timestamp: convert it first.`, node);
  return { ...instant, zone: named.text };
}

type Special = (scope: Scope, node: ExpressionOf<'call'>) => Value;

// Functions whose types do not follow from a signature alone.
const specials: Record<string, Special | undefined> = Object.assign(
  Object.create(null) as Record<string, Special>,
  {
    if: resolveChoice,
    multiIf: resolveChoice,
    coalesce: resolveCoalesce,
    ifNull: resolveCoalesce,
    map: resolveMap,
    tuple: (scope: Scope, node: ExpressionOf<'call'>) =>
      valueOf(scope, { kind: 'tuple', items: node.args, start: node.start, end: node.end }),
    array: (scope: Scope, node: ExpressionOf<'call'>) =>
      valueOf(scope, { kind: 'array', items: node.args, start: node.start, end: node.end }),
    tupleElement: resolveTupleElement,
  },
);

function resolveChoice(scope: Scope, node: ExpressionOf<'call'>): Value {
  const { args } = node;
  if (args.length < 3 || args.length % 2 === 0 || (node.name.text === 'if' && args.length !== 3))
    throw new Fault(
      `\`${node.name.text}\` takes a condition and a ` +
        `value${node.name.text === 'if' ? '' : ' by turns'}, and a value for all else.`,
      node,
    );
  const conditions = args.filter((_arg, index) => index % 2 === 0 && index < args.length - 1);
  const results = args.filter((_arg, index) => index % 2 === 1 || index === args.length - 1);
  return choose(
    scope.context,
    conditions.map((one) => condition(scope, one)),
    results.map((one) => valueOf(scope, one)),
    node,
  );
}

function resolveCoalesce(scope: Scope, node: ExpressionOf<'call'>): Value {
  if (node.args.length === 0 || (node.name.text === 'ifNull' && node.args.length !== 2))
    throw new Fault(
      `\`${node.name.text}\` takes ` +
        `${node.name.text === 'ifNull' ? 'two values' : 'a value or more'}.`,
      node,
    );
  return coalesce(
    scope.context,
    node.name.text,
    node.args.map((arg) => valueOf(scope, arg)),
    node,
  );
}

function resolveMap(scope: Scope, node: ExpressionOf<'call'>): Value {
  if (node.args.length === 0 || node.args.length % 2 !== 0)
    throw new Fault('`map` takes keys and values by turns.', node);
  const values = node.args.map((arg) => valueOf(scope, arg));
  const keys = align(
    scope.context.writer,
    values.filter((_value, index) => index % 2 === 0),
  );
  const items = align(
    scope.context.writer,
    values.filter((_value, index) => index % 2 === 1),
  );
  if (keys === undefined || items === undefined)
    throw new Fault(
      'The keys of a map are of one type, and its values too: convert them, for example with ' +
        'toString.',
      node,
    );
  if (keys.type.nullable || (keys.type.kind !== 'text' && keys.type.kind !== 'integer'))
    throw new Fault('The keys of a map are texts or whole numbers that are not NULL.', node);
  const texts = keys.values.flatMap((key, index) => [key.sql, items.values[index]!.sql]);
  return compose(`map(${texts.join(', ')})`, typeOf('map', keys.type, items.type), node, values);
}

function resolveTupleElement(scope: Scope, node: ExpressionOf<'call'>): Value {
  const [target, position, ...others] = node.args;
  if (target === undefined || position?.kind !== 'number' || others.length > 0)
    throw new Fault('`tupleElement` takes a tuple and the number of an element.', node);
  return valueOf(scope, {
    kind: 'tuple_element',
    target,
    position: Number(position.digits),
    start: node.start,
    end: node.end,
  });
}

/** Resolves an array or tuple in brackets. */
export function resolveItems(scope: Scope, node: ExpressionOf<'array' | 'tuple'>): Value {
  const items = node.items.map((item: Expression) => valueOf(scope, item));
  if (node.kind === 'tuple') {
    // Booleans become ClickHouse's own, so that JSON shows them as such.
    const values = items.map((item) => coerce(scope.context.writer, item, item.type.kind) ?? item);
    return compose(
      `tuple(${values.map(({ sql }) => sql).join(', ')})`,
      typeOf('tuple', ...values.map(({ type }) => type)),
      node,
      values,
    );
  }
  const aligned = align(scope.context.writer, items);
  if (aligned === undefined)
    throw new Fault(
      'The items of an array are of one type, these are ' +
        `${[...new Set(items.map(({ type }) => describeType(type)))].join(' and ')}: convert ` +
        'them.',
      node,
    );
  return compose(
    `array(${aligned.values.map(({ sql }) => sql).join(', ')})`,
    typeOf('array', aligned.type),
    node,
    items,
  );
}
