import { TextInput } from '@mantine/core';
import { useId } from 'react';
import type { ComponentProps } from 'react';

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')];

/** A time zone: typed, with those that the browser knows to choose from. */
export function ZoneInput(given: ComponentProps<typeof TextInput>) {
  const id = useId();
  return (
    <>
      <TextInput {...given} list={id} autoComplete="off" spellCheck={false} />
      <datalist id={id}>
        {zones.map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </datalist>
    </>
  );
}
