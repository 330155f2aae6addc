import { TextInput } from '@mantine/core';
import { useContext, useEffect, useRef } from 'react';
import { ZoneContext } from '../time/instant.tsx';
import { fieldOf, typedAt } from '../time/zone.ts';

/**
 * An instant to be typed, as the clocks of the project's zone show it. It is told once the field is
 * left, or by Enter: half typed it means another one.
 */
export function Moment({
  label,
  at,
  set,
  fault,
}: {
  label: string;
  /** In milliseconds; undefined or NaN: none. */
  at: number | undefined;
  /** Told in milliseconds; undefined: none. */
  set: (at: number | undefined) => void;
  fault?: string | undefined;
}) {
  const zone = useContext(ZoneContext);
  const field = useRef<HTMLInputElement>(null);
  const shown = at === undefined || Number.isNaN(at) ? '' : fieldOf(at, zone);
  useEffect(() => {
    field.current!.value = shown;
  }, [shown]);
  const tell = ({ value }: HTMLInputElement) => {
    if (value !== shown) set(typedAt(value, zone));
  };
  return (
    <TextInput
      ref={field}
      size="xs"
      type="datetime-local"
      label={`${label} (${zone})`}
      defaultValue={shown}
      error={fault}
      onBlur={({ target }) => tell(target)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === 'Enter') tell(currentTarget);
      }}
    />
  );
}
