import { Checkbox } from '@mantine/core';
import { useFault } from './context.ts';
import type { Values } from './values.ts';

/** Something that is so or not; `isTicked` reads it from what was filled in. */
export function BoxField({
  name,
  label,
  hint,
  is_on,
}: {
  /** The API's name of the field. */
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

/** Returns true if the box of the name was ticked. */
export function isTicked(values: Values, name: string): boolean {
  return values[name]?.length === 1;
}
