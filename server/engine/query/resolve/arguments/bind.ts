import { bindLambda } from './bind_lambda.ts';
import { coerce, takesLiterals, withoutNull } from '../../values/coerce.ts';
import { Fault } from '../../fault.ts';
import type { KnownFunction } from '../../functions/find.ts';
import type { Form, Parameter, Signature } from '../../functions/signature.ts';
import { readLiteral } from './literal_argument.ts';
import type { Span } from '../../query_error.ts';
import type { Expression } from '../../parse/tree.ts';
import type { Value } from '../../values/value.ts';
import {
  describeType,
  isContainer,
  isNumeric,
  orNull,
  typeOf,
  unify,
} from '../../values/value_type.ts';
import type { Kind, ValueType } from '../../values/value_type.ts';
import { fitForm, describeForm } from './fit_form.ts';
import { valueOf } from '../scope.ts';
import type { Context, Scope } from '../scope.ts';

/** An argument as it stands in the query, or already resolved. */
export type Argument = { node: Expression } | { value: Value };

/** A call's arguments as ClickHouse text, their values, and the type of the result. */
export type Binding = { texts: string[]; values: Value[]; type: ValueType };

/**
 * Arguments and their forms during the fitting; a lambda comes last, when the types of the arrays
 * are known.
 */
type Fitted = { form: Form; argument: Argument; value?: Value; text?: string };

/**
 * Fits the arguments to the first matching signature. Throws a `Fault` at the first argument that
 * fits none.
 */
export function bind(scope: Scope, known: KnownFunction, args: Argument[], span: Span): Binding {
  const { name, signature } = known.definition;
  const candidates = known.signatures.filter(
    (one) => formsOf(one.parameters, args.length) !== undefined,
  );
  if (candidates.length === 0)
    throw new Fault(
      `\`${name}\` takes ${signature.replaceAll('#level', '')}, not ${args.length} arguments.`,
      span,
    );
  const hasLambda = args[0] !== undefined && 'node' in args[0] && args[0].node.kind === 'lambda';
  const fitting = candidates.find((one) => isLambda(one.parameters[0]?.form) === hasLambda);
  if (fitting === undefined) throw new Fault(`\`${name}\` takes ${signature}.`, span);
  // Resolved once: a signature that does not fit must not resolve a lambda or subquery twice.
  const resolved = args.map((argument) =>
    'node' in argument && isOpen(argument.node)
      ? { value: valueOf(scope, argument.node), node: argument.node }
      : argument,
  );
  let first: unknown;
  for (const signatureRead of candidates.filter(
    (one) => isLambda(one.parameters[0]?.form) === hasLambda,
  )) {
    try {
      return bindSignature(scope, known, signatureRead, resolved);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      first ??= error;
    }
  }
  throw first;
}

const isOpen = (node: Expression) => node.kind !== 'lambda' && node.kind !== 'interval';
const isLambda = (form: Form | undefined) => form?.name === 'lambda' || form?.name === 'test';

/** Returns one form for each argument, or undefined if the count does not fit. */
function formsOf(parameters: Parameter[], count: number): Form[] | undefined {
  const forms: Form[] = [];
  for (const { form, optional, repeated } of parameters) {
    if (repeated) while (forms.length < count) forms.push(form);
    else if (forms.length < count || !optional) forms.push(form);
  }
  return forms.length === count ? forms : undefined;
}

function bindSignature(
  scope: Scope,
  known: KnownFunction,
  signature: Signature,
  args: Argument[],
): Binding {
  const { name } = known.definition;
  const forms = formsOf(signature.parameters, args.length) ?? [];
  const fitted = args.map((argument, index): Fitted =>
    fitKnown(scope, name, forms[index]!, argument),
  );
  const letters = bindLetters(scope.context, name, fitted);
  for (const one of fitted)
    if (one.value !== undefined && one.text === undefined)
      fitValue(scope.context, name, one, letters);
  const lambda = fitted.find(({ form }) => isLambda(form));
  if (lambda !== undefined && 'node' in lambda.argument && lambda.argument.node.kind === 'lambda') {
    const bound = bindLambda(
      scope,
      lambda.argument.node,
      fitted.flatMap(({ value }) => value ?? []),
      lambda.form.name === 'test',
    );
    letters.set('U', bound.body.type);
    lambda.value = bound.body;
    lambda.text = bound.text;
  }
  const type = resultType(signature.result, letters, fitted);
  const values = fitted.map(({ value }) => value!);
  // Aggregates omit NULL; other functions that return arrays refuse it.
  const needsValue = isContainer(type.kind) && known.use === 'row';
  const texts = fitted.map(
    ({ value, text }) => text ?? (needsValue ? withoutNull(value!) : value!).sql,
  );
  return { texts, values, type };
}

/** Reads literals, and resolves everything else. */
function fitKnown(scope: Scope, name: string, form: Form, argument: Argument): Fitted {
  if (isLambda(form)) return { form, argument };
  if (form.name.startsWith('#')) {
    const node = 'node' in argument ? argument.node : undefined;
    const value = 'value' in argument ? argument.value : undefined;
    const literal = readLiteral(scope.context.writer, name, form.name, node, value);
    return { form, argument, value: literal.value, text: literal.text };
  }
  return {
    form,
    argument,
    value: 'value' in argument ? argument.value : valueOf(scope, argument.node),
  };
}

/** Binds each letter of the forms to the one type that can hold every argument at its places. */
function bindLetters(context: Context, name: string, fitted: Fitted[]): Map<string, ValueType> {
  const found = new Map<string, { type: ValueType; value?: Value }[]>();
  const collect = (form: Form, type: ValueType, value?: Value): void => {
    if (form.items.length === 0 && /^[A-Z]$/.test(form.name))
      found.set(form.name, [...(found.get(form.name) ?? []), { type, value }]);
    else form.items.forEach((item, index) => type.items[index] && collect(item, type.items[index]));
  };
  for (const { form, value, text } of fitted)
    if (value !== undefined && text === undefined) collect(form, value.type, value);
  const letters = new Map<string, ValueType>();
  for (const [letter, places] of found) {
    const special = places.find(({ type }) => takesLiterals(type.kind))?.type.kind;
    const types = places.map(({ type, value }) => {
      const literal =
        special !== undefined && value?.literal !== undefined
          ? coerce(context.writer, value, special)
          : undefined;
      return letter === 'N'
        ? numberType(name, literal?.type ?? type, value)
        : (literal?.type ?? type);
    });
    const type = unify(types);
    if (type === undefined)
      throw new Fault(
        `\`${name}\` needs values of one type, these are ` +
          `${types.map(describeType).join(' and ')}: convert them.`,
        fitted.find(({ value }) => value)!.value!.span,
      );
    letters.set(letter, type);
  }
  return letters;
}

function numberType(name: string, type: ValueType, value: Value | undefined): ValueType {
  if (type.kind === 'property') return { ...type, kind: 'float' };
  if (type.kind === 'boolean') return { ...type, kind: 'integer' };
  if (!isNumeric(type.kind) && type.kind !== 'null')
    throw new Fault(
      `\`${name}\` takes numbers, this is ${describeType(type)}: convert it with toFloat64 or ` +
        'toInt64.',
      value?.span ?? { start: 0, end: 0 },
    );
  return type;
}

/** Converts the value to its form. */
function fitValue(
  context: Context,
  name: string,
  fitted: Fitted,
  letters: Map<string, ValueType>,
): void {
  const value = fitted.value!;
  const fit = fitForm(context, fitted.form, value, letters);
  if (fit === undefined)
    throw new Fault(
      `\`${name}\` takes ${describeForm(fitted.form, letters)} here, this is ` +
        `${describeType(value.type)}: ` +
        (fitted.form.name === 'array' && value.type.kind === 'property'
          ? 'write JSONExtractArrayRaw(...) around it.'
          : 'convert it.'),
      value.span,
    );
  fitted.value = fit;
}

function resultType(result: Form, letters: Map<string, ValueType>, fitted: Fitted[]): ValueType {
  const read = (form: Form): ValueType =>
    letters.get(form.name) ?? typeOf(form.name as Kind, ...form.items.map(read));
  const type = read(result);
  if (isContainer(type.kind)) return type;
  // NULL items of an array do not make the result of a function over the array NULL.
  const isLetter = letters.has(result.name);
  const nullable =
    isLetter && fitted.some(({ form }) => form.items.length > 0)
      ? type.nullable
      : type.nullable ||
        fitted.some(({ form, value }) => !isLambda(form) && value?.type.nullable === true);
  if (result.always_null) return orNull(type);
  return { ...type, nullable: nullable && !result.never_null };
}
