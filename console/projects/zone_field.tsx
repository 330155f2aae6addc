import { useFault } from '../form/context.ts';
import { ZoneInput } from '../form/zone_input.tsx';

/** The time zone of a project. */
export function ZoneField({ value }: { value: string }) {
  return (
    <ZoneInput
      name="timezone"
      label="Time zone"
      description="Days and weeks of new exports start in this zone, and times are shown in it."
      error={useFault('timezone')}
      defaultValue={value}
    />
  );
}
