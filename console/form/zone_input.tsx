import { TextInput } from '@mantine/core';
import { useId } from 'react';
import type { ComponentProps } from 'react';

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')];

/** A time zone field with the browser's known zones as proposals. */
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
