import { bind } from './bind.ts';
import type { Argument, Binding } from './bind.ts';
import type { Context } from './context.ts';
import { Fault } from './fault.ts';
import { findFunction } from './functions/find.ts';
import type { KnownFunction } from './functions/find.ts';
import type { Span } from './query_error.ts';
import type { Scope } from './scope.ts';
import { compose } from './value.ts';
import type { Value } from './value.ts';
import { isContainer } from './value_type.ts';
import type { Kind } from './value_type.ts';

/** ClickHouse text that makes a result the type that its signature names: ClickHouse's own are often narrower, and narrow ones do not meet in IF or UNION. */
const canonical: Partial<Record<Kind, (sql: string) => string>> = {
  integer: (sql) => `toInt64(${sql})`,
  unsigned: (sql) => `toUInt64(${sql})`,
  float: (sql) => `toFloat64(${sql})`,
  timestamp: (sql) => `toDateTime64(${sql}, 6, 'UTC')`,
  date: (sql) => `toDate32(${sql})`,
};

/** Most bytes of a text that the functions read which find every match of a regular expression: some expressions take time by the square of it. */
const scanned_bytes_max = 4_096;

/** A function of one row on resolved values. */
export function apply(context: Context, scope: Scope, name: string, values: Value[], span: Span): Value {
  const known = findFunction(name);
  if (known === undefined) throw new RangeError(`The query language has no function ${name}.`);
  return applyKnown(
    context,
    scope,
    known,
    values.map((value) => ({ value })),
    span,
  );
}

/** A function of one row on its arguments. Throws a `Fault` where they do not fit any signature. */
export function applyKnown(context: Context, scope: Scope, known: KnownFunction, args: Argument[], span: Span): Value {
  const { definition } = known;
  if (definition.scans === true && scope.lambdas.length > 0)
    throw new Fault(`\`${definition.name}\` cannot stand inside a lambda: apply it to the whole text, or use arrayJoin.`, span);
  const binding = bind(context, scope, known, args, span);
  const texts = definition.scans === true ? cutTexts(binding) : binding.texts;
  const sql = definition.engine === undefined ? `${definition.name}(${texts.join(', ')})` : fill(definition.engine, texts);
  const value = compose(definition.exact === true ? sql : canonicalText(sql, binding.type.kind), binding.type, span, binding.values);
  return definition.name === 'arrayJoin' ? { ...value, traits: { ...value.traits, multiplies: true } } : value;
}

/** ClickHouse text of a result, made the type that its kind names. */
export function canonicalText(sql: string, kind: Kind): string {
  return isContainer(kind) ? sql : (canonical[kind]?.(sql) ?? sql);
}

/** A template with its arguments: `$1`, `$*`; a unit behind `Interval` begins with a capital; a time zone that was not given is UTC. */
function fill(template: string, texts: string[]): string {
  return template.replace(/(Interval)?\$(\d|\*)/g, (_whole, interval: string | undefined, which: string) => {
    const text = which === '*' ? texts.join(', ') : (texts[Number(which) - 1] ?? "'UTC'");
    return interval === undefined ? text : `${interval}${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  });
}

function cutTexts({ texts, values }: Binding): string[] {
  const searched = texts.findIndex((_text, index) => values[index]?.literal === undefined);
  return texts.map((text, index) => (index === searched ? `substring(${text}, 1, ${scanned_bytes_max})` : text));
}
