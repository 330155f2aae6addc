import { coerce, coerceCondition } from '../../values/coerce.ts';
import { Fault } from '../../fault.ts';
import type { ExpressionOf } from '../../parse/tree.ts';
import { plain_traits } from '../../values/value.ts';
import type { Value } from '../../values/value.ts';
import { describeType } from '../../values/value_type.ts';
import { valueOf } from '../scope.ts';
import type { Scope } from '../scope.ts';

/** Most nested lambdas: each multiplies the work of the enclosing ones. */
const lambdas_max = 3;

/**
 * Binds a lambda over the items of the arrays: its ClickHouse text and the value of its body, a
 * condition if it `isTest`.
 */
export function bindLambda(
  scope: Scope,
  node: ExpressionOf<'lambda'>,
  arrays: Value[],
  isTest: boolean,
): { text: string; body: Value } {
  if (scope.lambdas.length >= lambdas_max)
    throw new Fault(`At most ${lambdas_max} lambdas can be nested: use arrayJoin.`, node);
  if (node.parameters.length !== arrays.length)
    throw new Fault(
      `This lambda has ${node.parameters.length} parameters for ${arrays.length} arrays: one ` +
        'for each.',
      node,
    );
  const parameters = new Map<string, Value>();
  for (const [index, name] of node.parameters.entries()) {
    if (parameters.has(name.text))
      throw new Fault(`The lambda has two parameters named \`${name.text}\`.`, name);
    parameters.set(name.text, {
      sql: scope.context.writer.name('l'),
      type: arrays[index]!.type.items[0]!,
      span: name,
      traits: plain_traits,
    });
  }
  const inner: Scope = {
    ...scope,
    lambdas: [...scope.lambdas, parameters],
    aggregates_refused: 'inside a lambda',
    windows_refused: 'inside a lambda',
  };
  const resolved = valueOf(inner, node.body);
  // Booleans become ClickHouse's own, so that JSON shows them as such.
  const body = isTest
    ? coerceCondition(scope.context.writer, resolved)
    : (coerce(scope.context.writer, resolved, resolved.type.kind) ?? resolved);
  if (body === undefined)
    throw new Fault(
      `This lambda returns a condition, not ${describeType(resolved.type)}.`,
      node.body,
    );
  const names = Array.from(parameters.values(), ({ sql }) => sql).join(', ');
  return { text: `(${names}) -> ${body.sql}`, body };
}
