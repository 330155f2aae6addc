import { TextInput } from '@mantine/core';
import { useId } from 'react';
import { useFault } from '../form/context.ts';

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')];

/** The time zone of a project: typed, with those that the browser knows to choose from. */
export function ZoneField({ value }: { value: string }) {
  const error = useFault('timezone');
  const id = useId();
  return (
    <>
      <TextInput
        name="timezone"
        label="Time zone"
        description="Days and weeks of new exports start in this zone, and times are shown in it."
        error={error}
        defaultValue={value}
        list={id}
        autoComplete="off"
        spellCheck={false}
      />
      <datalist id={id}>
        {zones.map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </datalist>
    </>
  );
}
