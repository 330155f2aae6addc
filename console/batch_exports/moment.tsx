import { useContext, useState } from 'react';
import { MomentInput } from '../form/moment_input.tsx';
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
  faultOf = () => undefined,
}: {
  label: string;
  /** In milliseconds; undefined or NaN: none. */
  at: number | undefined;
  /** Told in milliseconds; undefined: none. */
  set: (at: number | undefined) => void;
  /** Says why an instant is not told; undefined: it is. */
  faultOf?: (at: number | undefined) => string | undefined;
}) {
  const zone = useContext(ZoneContext);
  const shown = at === undefined || Number.isNaN(at) ? '' : fieldOf(at, zone);
  const [typed, setTyped] = useState({ over: shown, text: shown });
  // Another instant from outside replaces what is typed.
  const text = typed.over === shown ? typed.text : shown;
  const instant = typedAt(text, zone);
  const fault = text === shown ? undefined : faultOf(instant);
  const tell = () => {
    // A text that is no instant stays, and its field says so.
    if (text !== shown && fault === undefined && (text === '' || instant !== undefined))
      set(instant);
  };
  return (
    <MomentInput
      size="xs"
      label={`${label} (${zone})`}
      value={text}
      set={(value) => setTyped({ over: shown, text: value })}
      error={fault}
      onBlur={tell}
      onKeyDown={({ key }) => {
        if (key === 'Enter') tell();
      }}
    />
  );
}
