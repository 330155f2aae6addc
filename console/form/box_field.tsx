import { Checkbox } from '@mantine/core';
import { useFault } from './context.ts';
import type { Values } from './values.ts';

/** A checkbox; `isTicked` reads it from the values. */
export function BoxField({
  name,
  label,
  hint,
  is_on,
}: {
  /** The field's name in the API. */
  name: string;
  label: string;
  hint?: string;
  is_on: boolean;
}) {
  const error = useFault(name);
  return (
    <Checkbox
      name={name}
      value="yes"
      label={label}
      description={hint}
      error={error}
      defaultChecked={is_on}
    />
  );
}

/** Returns true if the checkbox with the name is ticked. */
export function isTicked(values: Values, name: string): boolean {
  return values[name]?.length === 1;
}
