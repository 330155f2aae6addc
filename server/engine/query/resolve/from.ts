import { model_names } from '../../model/models/model.ts';
import { coerceCondition } from '../values/coerce.ts';
import { compare } from '../values/compare.ts';
import { Fault } from '../fault.ts';
import { columnValue } from './name.ts';
import { openDerived, openTable, outerSource } from './source.ts';
import type { Source } from './source.ts';
import { elsewhereNamed } from './elsewhere.ts';
import { suggest } from '../../../platform/suggest.ts';
import type { Join, Name, SelectCore, Source as SourceNode } from '../parse/tree.ts';
import { compose } from '../values/value.ts';
import type { Value } from '../values/value.ts';
import { describeType } from '../values/value_type.ts';
import { valueOf } from './scope.ts';
import type { Scope, SelectUse } from './scope.ts';

/**
 * FROM with its joins, opened in the scope. `text` returns ClickHouse's text once all uses of the
 * sources have been resolved.
 */
export type OpenFrom = { text(): string; is_model_table: boolean };

/**
 * Opens the sources of a SELECT. The first table has the run's rows wherever the SELECT itself
 * does. A joined table of another model, and everything inside a look-up, has all rows up to the
 * end of the run's selection.
 */
export function openFrom(scope: Scope, core: SelectCore, use: SelectUse): OpenFrom | undefined {
  if (core.from === undefined) return undefined;
  const first = openSource(scope, core.from, use.is_lookup);
  addSource(scope, first);
  const joins = core.joins.map((join) => openJoin(scope, join));
  const isTable =
    core.from.kind === 'table' && core.joins.length === 0 && first.model === scope.context.model;
  return {
    is_model_table: isTable,
    text: () => [first.text(), ...joins.map((text) => text())].join(' '),
  };
}

function addSource(scope: Scope, source: Source): void {
  if (source.name !== undefined && scope.sources.some((other) => other.name === source.name))
    throw new Fault(
      `Two tables are named \`${source.name}\` here: give one of them another alias.`,
      source.span,
    );
  scope.sources.push(source);
}

function openSource(scope: Scope, node: SourceNode, isLookup: boolean): Source {
  const span = { start: node.start, end: node.end };
  if (node.kind === 'subquery') {
    const select = scope.context.select(node.select, {
      withs: scope.withs,
      is_lookup: isLookup,
      is_outermost: false,
    });
    return openDerived(scope.context.writer, node.alias?.text, span, select.text, select.columns);
  }
  const name = node.alias?.text ?? node.name.text;
  const known = scope.withs.get(node.name.text);
  if (known !== undefined && 'select' in known.entry) {
    // An entry of WITH is resolved again at each place, for the rows of that place.
    const select = scope.context.select(known.entry.select, {
      withs: known.before,
      is_lookup: isLookup,
      is_outermost: false,
    });
    return openDerived(scope.context.writer, name, span, select.text, select.columns);
  }
  const model = model_names.find((one) => one === node.name.text);
  if (model !== undefined) {
    scope.context.tables.add(model);
    return openTable(
      scope.context.writer,
      name,
      span,
      model,
      scope.context.rows,
      isLookup && model !== scope.context.model,
    );
  }
  throw unknownTable(scope, node.name);
}

function unknownTable(scope: Scope, name: Name): Fault {
  const entries = Array.from(scope.withs.values(), ({ entry }) =>
    'select' in entry ? [entry.name.text] : [],
  ).flat();
  const known = elsewhereNamed(name.text);
  return new Fault(
    `There is no table \`${name.text}\`: read from ${model_names.join(', ')} or an entry of WITH.` +
      (known === undefined ? '' : ` ${known}`),
    name,
    suggest(name.text, [...model_names, ...entries]),
  );
}

function openJoin(scope: Scope, join: Join): () => string {
  const opened = openSource(scope, join.source, true);
  const before = scope.sources.length;
  addSource(scope, opened);
  const on =
    join.using === undefined
      ? joinCondition(scope, join)
      : joinUsing(scope, join.using, join.kind, opened, before);
  if (join.kind === 'LEFT' || join.kind === 'FULL') scope.sources[before] = outerSource(opened);
  if (join.kind === 'RIGHT' || join.kind === 'FULL')
    scope.sources.splice(0, before, ...scope.sources.slice(0, before).map(outerSource));
  return () => `${join.kind} JOIN ${opened.text()}${on === undefined ? '' : ` ON ${on}`}`;
}

function joinCondition(scope: Scope, join: Join): string | undefined {
  if (join.on === undefined) return undefined;
  const value = valueOf(
    { ...scope, aliases: new Map(), aggregates_refused: 'in ON', windows_refused: 'in ON' },
    join.on,
  );
  const condition = coerceCondition(scope.context.writer, value);
  if (condition === undefined)
    throw new Fault(`ON needs a condition; this is ${describeType(value.type)}.`, join.on);
  return condition.sql;
}

/** USING (a): the columns of both sides are equal and become one. */
function joinUsing(
  scope: Scope,
  using: Name[],
  kind: Join['kind'],
  right: Source,
  before: number,
): string {
  const tests = using.map((name) => {
    const owners = scope.sources
      .slice(0, before)
      .filter((source) => source.column(name.text) !== undefined);
    const left =
      scope.merged.get(name.text) ??
      (owners.length === 1 ? columnValue(owners[0]!, name) : undefined);
    if (left === undefined || right.column(name.text) === undefined)
      throw new Fault(`USING needs a column \`${name.text}\` on both sides: write ON.`, name);
    const other = columnValue(right, name);
    scope.merged.set(name.text, mergedColumn(kind, left, other, name));
    return compare(scope.context.writer, '=', left, other, name).sql;
  });
  return tests.length === 1 ? tests[0]! : `and(${tests.join(', ')})`;
}

function mergedColumn(kind: Join['kind'], left: Value, right: Value, name: Name): Value {
  if (kind === 'FULL')
    return compose(`coalesce(${left.sql}, ${right.sql})`, { ...left.type, nullable: true }, name, [
      left,
      right,
    ]);
  return kind === 'RIGHT' ? right : left;
}
