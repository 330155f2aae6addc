import { coerce, coerceCondition, coerceNumber, coerceTo } from '../../values/coerce.ts';
import type { Form } from '../../functions/signature.ts';
import type { Value } from '../../values/value.ts';
import { describeType, isNumeric, isTextual, typeOf } from '../../values/value_type.ts';
import type { Kind, ValueType } from '../../values/value_type.ts';
import type { Context } from '../scope.ts';

/** Returns the value in its form, or undefined if it does not fit. */
export function fitForm(
  { writer }: Context,
  form: Form,
  value: Value,
  letters: Map<string, ValueType>,
): Value | undefined {
  switch (form.name) {
    case 'any':
      return value.type.kind === 'interval'
        ? undefined
        : (coerce(writer, value, value.type.kind) ?? value);
    case 'condition':
      return coerceCondition(writer, value);
    case 'number':
      return coerceNumber(writer, value);
    case 'instant':
      return value.type.kind === 'date' ? value : coerce(writer, value, 'timestamp');
    case 'key':
      return isTextual(value.type.kind) || value.type.kind === 'integer' ? value : undefined;
    case 'tuple':
      if (form.items.length === 0) return value.type.kind === 'tuple' ? value : undefined;
  }
  const letter = letters.get(form.name);
  if (letter !== undefined) return coerceTo(writer, value, letter);
  if (form.items.length === 0) return coerce(writer, value, form.name as Kind);
  if (value.type.kind !== form.name || value.type.items.length !== form.items.length)
    return undefined;
  const wanted = instantiate(form, letters, value.type);
  return wanted && coerceTo(writer, value, wanted);
}

/** Returns the type that a form names; `any` stands for the value's own type. */
function instantiate(
  form: Form,
  letters: Map<string, ValueType>,
  present: ValueType,
): ValueType | undefined {
  if (form.name === 'any') return present;
  const letter = letters.get(form.name);
  if (letter !== undefined) return letter;
  if (form.name === 'number')
    return isNumeric(present.kind) && present.kind !== 'boolean'
      ? present
      : { ...present, kind: 'float' };
  const items = form.items.map((item, index) =>
    instantiate(item, letters, present.items[index] ?? typeOf('null')),
  );
  return items.every((item) => item !== undefined)
    ? { kind: form.name as Kind, nullable: present.nullable && form.items.length === 0, items }
    : undefined;
}

/** Describes the arguments of a form, for a fault. */
export function describeForm(form: Form, letters: Map<string, ValueType>): string {
  const letter = letters.get(form.name);
  if (letter !== undefined) return describeType(letter);
  if (form.items.length > 0)
    return `${form.name} of ${form.items.map((item) => describeForm(item, letters)).join(' and ')}`;
  return (
    {
      condition: 'a condition',
      number: 'a number',
      instant: 'a timestamp or date',
      key: 'a key or position',
    }[form.name] ?? form.name
  );
}
