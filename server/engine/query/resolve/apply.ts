import { bind } from './arguments/bind.ts';
import type { Argument, Binding } from './arguments/bind.ts';
import { Fault } from '../fault.ts';
import { findFunction } from '../functions/find.ts';
import type { FunctionDefinition } from '../functions/definition.ts';
import type { KnownFunction } from '../functions/find.ts';
import type { Span } from '../query_error.ts';
import { searchedBy } from '../gate/regexp_cost.ts';
import type { Searched } from '../gate/regexp_cost.ts';
import { compose } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { isContainer } from '../values/value_type.ts';
import type { Kind } from '../values/value_type.ts';
import type { Context, Scope } from './scope.ts';

/**
 * ClickHouse text that converts a result to the type of its signature: ClickHouse's own types are
 * often narrower, and narrow ones are incompatible in IF or UNION.
 */
const canonical: Partial<Record<Kind, (sql: string) => string>> = {
  integer: (sql) => `toInt64(${sql})`,
  unsigned: (sql) => `toUInt64(${sql})`,
  float: (sql) => `toFloat64(${sql})`,
  decimal: (sql) => `toDecimal128(${sql}, 9)`,
  timestamp: (sql) => `toDateTime64(${sql}, 6, 'UTC')`,
  date: (sql) => `toDate32(${sql})`,
};

/** Most different calls with a regular expression in one query. */
const searches_max = 50;

/** Applies a function of one row to resolved values. */
export function apply(scope: Scope, name: string, values: Value[], span: Span): Value {
  const known = findFunction(name);
  if (known === undefined) throw new RangeError(`The query language has no function ${name}.`);
  return applyKnown(
    scope,
    known,
    values.map((value) => ({ value })),
    span,
  );
}

/** Applies a function of one row to its arguments. Throws a `Fault` if they fit no signature. */
export function applyKnown(
  scope: Scope,
  known: KnownFunction,
  args: Argument[],
  span: Span,
): Value {
  const { definition } = known;
  if (definition.scans && scope.lambdas.length > 0)
    throw new Fault(
      `\`${definition.name}\` is not allowed inside a lambda: apply it to the whole text, or ` +
        'use arrayJoin.',
      span,
    );
  const binding = bind(scope, known, args, span);
  const searched = searchedBy(
    known,
    binding.values.map(({ literal }) => literal),
    scope.lambdas.length > 0,
    span,
  );
  const { zone, texts } = zoneOf(known, binding);
  const sql =
    searched === undefined
      ? printCall(definition, texts)
      : printSearch(scope.context, definition, binding.texts, searched, span);
  const value = compose(
    definition.exact ? sql : canonicalText(sql, binding.type.kind),
    binding.type,
    span,
    binding.values,
  );
  if (zone !== undefined && value.type.kind === 'timestamp') return { ...value, zone };
  return definition.name === 'arrayJoin'
    ? { ...value, traits: { ...value.traits, multiplies: true } }
    : value;
}

/**
 * Returns the zone of a function that accepts one, and its arguments with it: the named zone, or
 * else that of its timestamp. An optional number before it is 0 by default. A function that moves a
 * timestamp works in the timestamp's own zone, where days have 23 or 25 hours.
 */
function zoneOf({ signatures: [signature] }: KnownFunction, { texts, values }: Binding) {
  const at = signature!.parameters.findIndex(({ form }) => form.name === '#zone');
  if (at < 0) {
    const moves = signature!.result.name === 'timestamp';
    return { texts: moves ? texts.map((text, index) => local(text, values[index]!)) : texts };
  }
  const zone = texts[at] ?? values.find((value) => value.zone)?.zone;
  if (zone === undefined) return { texts };
  const given = texts.slice(0, at);
  return { zone, texts: [...given, ...Array<string>(at - given.length).fill('0'), zone] };
}

/** Returns ClickHouse text of the value for calculations: a timestamp in its own zone. */
export function local(text: string, { zone }: Value): string {
  return zone === undefined ? text : `toTimeZone(${text}, ${zone})`;
}

/** Returns ClickHouse text of a result, converted to the type of its kind. */
export function canonicalText(sql: string, kind: Kind): string {
  return isContainer(kind) ? sql : (canonical[kind]?.(sql) ?? sql);
}

/**
 * Fills a template with its arguments: `$1`, `$*`. A unit after `Interval` begins with a capital; a
 * missing time zone is UTC.
 */
function fill(template: string, texts: string[]): string {
  return template.replace(
    /(Interval)?\$(\d|\*)/g,
    (_whole, interval: string | undefined, which: string) => {
      const text = which === '*' ? texts.join(', ') : (texts[Number(which) - 1] ?? "'UTC'");
      return interval === undefined
        ? text
        : `${interval}${text.charAt(0).toUpperCase()}${text.slice(1)}`;
    },
  );
}

function printCall({ name, engine }: FunctionDefinition, texts: string[]): string {
  return engine === undefined ? `${name}(${texts.join(', ')})` : fill(engine, texts);
}

/**
 * Prints a call that reads the first bytes of its text; a replacement leaves the rest unchanged.
 */
function printSearch(
  context: Context,
  definition: FunctionDefinition,
  texts: string[],
  { argument, bytes_max }: Searched,
  span: Span,
): string {
  const head = texts.map((text, index) =>
    index === argument ? `substring(${text}, 1, ${bytes_max})` : text,
  );
  const call = printCall(definition, head);
  context.searches.add(call);
  if (context.searches.size > searches_max)
    throw new Fault(
      `A query has at most ${searches_max} calls with a regular expression: use fewer.`,
      span,
    );
  return definition.name.startsWith('replace')
    ? `concat(${call}, substring(${texts[argument]}, ${bytes_max + 1}))`
    : call;
}
