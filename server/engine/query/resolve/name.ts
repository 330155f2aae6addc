import { coerce } from '../values/coerce.ts';
import { Fault } from '../fault.ts';
import type { Span } from '../query_error.ts';
import { extractText, readableJson } from '../../model/models/readable_json.ts';
import type { Source } from './source.ts';
import type { Expression, ExpressionOf, Name } from '../parse/tree.ts';
import { compose, plain_traits } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { describeType, isTextual, orNull } from '../values/value_type.ts';
import {
  findOwner,
  findSource,
  refuseAggregate,
  refuseWindow,
  unknownName,
  valueOf,
} from './scope.ts';
import type { Context, Scope } from './scope.ts';

type Step = Span & ({ name: string } | { index: Expression } | { position: number });

/**
 * Resolves a column, alias or parameter by its name, with the accesses to its properties, items and
 * elements.
 */
export function resolveAccess(
  scope: Scope,
  node: ExpressionOf<'column' | 'field' | 'element' | 'tuple_element'>,
): Value {
  const steps: Step[] = [];
  let base: Expression = node;
  while (base.kind === 'field' || base.kind === 'element' || base.kind === 'tuple_element') {
    const span = { start: base.start, end: base.end };
    if (base.kind === 'field') steps.unshift({ name: base.name.text, ...span });
    else
      steps.unshift(
        base.kind === 'element'
          ? { index: base.index, ...span }
          : { position: base.position, ...span },
      );
    base = base.target;
  }
  if (base.kind !== 'column') return takeSteps(scope, valueOf(scope, base), steps);
  const { value, rest } = resolveBase(scope, base);
  return takeSteps(scope, value, [
    ...rest.map((name) => ({ name: name.text, start: base.start, end: name.end })),
    ...steps,
  ]);
}

/** Resolves the first names of a dotted name; the rest are accesses. */
function resolveBase(scope: Scope, node: ExpressionOf<'column'>): { value: Value; rest: Name[] } {
  const [first, second, third] = node.parts;
  if (first === undefined) throw new Fault('Write a name here.', node);
  const parameter = scope.lambdas
    .findLast((parameters) => parameters.has(first.text))
    ?.get(first.text);
  if (parameter !== undefined)
    return { value: { ...parameter, span: first }, rest: node.parts.slice(1) };
  const source = second === undefined ? undefined : findSource(scope, first.text);
  if (source !== undefined && second !== undefined) {
    if (source.column(second.text) !== undefined)
      return { value: columnValue(source, second), rest: node.parts.slice(2) };
    const person = personColumn([source], second, third);
    if (person !== undefined) return { value: person, rest: node.parts.slice(3) };
    if (findOwner(scope, first) === undefined)
      throw unknownName({ ...scope, sources: [source], aliases: new Map() }, second);
  }
  const meanings = [() => columnOf(scope, first), () => aliasOf(scope, first)];
  for (const meaning of scope.prefers === 'column' ? meanings : meanings.toReversed()) {
    const value = meaning();
    if (value !== undefined) return { value, rest: node.parts.slice(1) };
  }
  const person = personColumn(scope.sources, first, second);
  if (person !== undefined) return { value: person, rest: node.parts.slice(2) };
  throw unknownName(scope, first);
}

function columnOf(scope: Scope, name: Name): Value | undefined {
  const merged = scope.merged.get(name.text);
  if (merged !== undefined)
    return { ...merged, span: name, traits: { ...plain_traits, loose: name } };
  const owner = findOwner(scope, name);
  return owner && columnValue(owner, name);
}

/** Returns the value of a column that the source has. */
export function columnValue(source: Source, name: Name): Value {
  const { sql, type, zone } = source.column(name.text)!;
  const value = compose(sql, type, name, [
    { traits: { ...plain_traits, loose: { start: name.start, end: name.end } } },
  ]);
  return {
    ...value,
    ...(zone === undefined ? {} : { zone }),
    property: (path) => source.property(name.text, path),
  };
}

// Columns of an event's person: the properties at the time of ingestion.
const person_columns = new Map([
  ['id', 'person_id'],
  ['properties', 'person_properties'],
]);

/** Resolves `person.properties` or `person.id` of events. */
function personColumn(sources: Source[], first: Name, second: Name | undefined): Value | undefined {
  const events = sources.filter((source) => source.model === 'events');
  const column = second && person_columns.get(second.text);
  if (first.text !== 'person' || column === undefined || events.length === 0) return undefined;
  if (events.length > 1)
    throw new Fault('Several tables have a `person`: write the table before it.', {
      start: first.start,
      end: second!.end,
    });
  return columnValue(events[0]!, {
    text: column,
    start: first.start,
    end: second!.end,
  });
}

function aliasOf(scope: Scope, name: Name): Value | undefined {
  const known = scope.alias_values.get(name.text);
  const expression = scope.aliases.get(name.text) ?? withExpression(scope, name.text);
  if (expression === undefined) return undefined;
  if (scope.open_aliases.has(name.text))
    throw new Fault(
      `The alias \`${name.text}\` refers to itself: give one of the two another name.`,
      name,
    );
  scope.open_aliases.add(name.text);
  try {
    // The expression of an alias belongs to the SELECT list, wherever it is used.
    const value =
      known ??
      valueOf(
        {
          ...scope,
          lambdas: [],
          prefers: 'column',
          aggregates_refused: undefined,
          windows_refused: undefined,
        },
        expression,
      );
    scope.alias_values.set(name.text, value);
    if (value.traits.aggregates && scope.aggregates_refused !== undefined)
      throw refuseAggregate(scope.aggregates_refused, name);
    if (value.traits.windows && scope.windows_refused !== undefined)
      throw refuseWindow(scope.windows_refused, name);
    return { ...value, span: name };
  } finally {
    scope.open_aliases.delete(name.text);
  }
}

function withExpression(scope: Scope, name: string): Expression | undefined {
  const found = scope.withs.get(name)?.entry;
  return found !== undefined && 'expression' in found ? found.expression : undefined;
}

function takeSteps(scope: Scope, base: Value, steps: Step[]): Value {
  let value = base;
  let taken = 0;
  while (taken < steps.length) {
    const isDocument =
      value.type.kind === 'json' ||
      value.type.kind === 'property' ||
      (value.type.kind === 'text' && 'name' in steps[taken]!);
    if (isDocument) {
      const count = steps.slice(taken).findIndex((step) => !isKey(step));
      const end = count < 0 ? steps.length : taken + count;
      if (end === taken)
        throw new Fault(
          'A property is named by text or a number in the query itself: write ' +
            "properties['name'] or properties.list[1].",
          steps[taken]!,
        );
      value = takeProperty(scope.context, value, steps.slice(taken, end));
      taken = end;
    } else {
      value = takeStep(scope, value, steps[taken]!);
      taken += 1;
    }
  }
  return value;
}

function isKey(step: Step): boolean {
  return (
    'name' in step || ('index' in step && (step.index.kind === 'text' || isInteger(step.index)))
  );
}

function isInteger(node: Expression): boolean {
  return (
    (node.kind === 'number' && /^\d{1,9}$/.test(node.digits)) ||
    (node.kind === 'minus' && isInteger(node.operand))
  );
}

function takeProperty(context: Context, value: Value, steps: Step[]): Value {
  const span = { start: value.span.start, end: steps.at(-1)!.end };
  if (value.type.kind === 'text')
    throw new Fault(
      'Only JSON has properties, and this is text: use JSONExtractString or another JSON function.',
      span,
    );
  const path = steps.map((step) => {
    if ('name' in step) return context.writer.parameter('String', step.name);
    const index = 'index' in step ? step.index : undefined;
    if (index?.kind === 'text') return context.writer.parameter('String', index.value);
    return context.writer.parameter(
      'Int64',
      index?.kind === 'minus'
        ? `-${(index.operand as ExpressionOf<'number'>).digits}`
        : (index as ExpressionOf<'number'>).digits,
    );
  });
  const known = value.property?.(path);
  if (known !== undefined) return compose(known.sql, known.type, span, [value]);
  const document = readableJson(value.type.nullable ? `ifNull(${value.sql}, '')` : value.sql);
  return compose(
    extractText(document, path),
    { kind: 'property', nullable: true, items: [] },
    span,
    [value],
  );
}

function takeStep(scope: Scope, value: Value, step: Step): Value {
  const span = { start: value.span.start, end: step.end };
  const { kind, items } = value.type;
  if (kind === 'tuple' && 'position' in step) {
    const item = items[step.position - 1];
    if (item === undefined)
      throw new Fault(`This tuple has ${items.length} elements, counted from 1.`, span);
    return compose(`tupleElement(${value.sql}, ${step.position})`, item, span, [value]);
  }
  if ((kind === 'array' || kind === 'map') && 'index' in step) {
    const index = valueOf(scope, step.index);
    const key = coerce(scope.context.writer, index, kind === 'array' ? 'integer' : items[0]!.kind);
    if (key === undefined)
      throw new Fault(
        `A value of type ${describeType(value.type)} cannot be indexed by ` +
          `${describeType(index.type)}.`,
        index.span,
      );
    const type = kind === 'array' ? items[0]! : items[1]!;
    return compose(
      `arrayElement(${value.sql}, ${key.sql})`,
      key.type.nullable ? orNull(type) : type,
      span,
      [value, key],
    );
  }
  const what = describeType(value.type);
  const advice = isTextual(kind) ? ' Use substring(...) for a part of a text.' : '';
  throw new Fault(
    `A value of type ${what} has no parts that can be read in this way.${advice}`,
    span,
  );
}
