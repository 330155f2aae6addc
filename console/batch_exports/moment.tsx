import { useContext, useState } from 'react';
import { MomentInput } from '../form/moment_input.tsx';
import { ZoneContext } from '../time/instant.tsx';
import { fieldOf, typedAt } from '../time/zone.ts';

/**
 * A field for an instant in the time zone of the project. It reports the instant on blur or Enter,
 * because a half-typed one means another instant.
 */
export function Moment({
  label,
  at,
  set,
  faultOf = () => undefined,
}: {
  label: string;
  /** In milliseconds; undefined or NaN without one. */
  at: number | undefined;
  /** Gets milliseconds; undefined without an instant. */
  set: (at: number | undefined) => void;
  /** Returns why an instant is refused; undefined if it is accepted. */
  faultOf?: (at: number | undefined) => string | undefined;
}) {
  const zone = useContext(ZoneContext);
  const shown = at === undefined || Number.isNaN(at) ? '' : fieldOf(at, zone);
  const [typed, setTyped] = useState({ over: shown, text: shown });
  // Another instant from outside replaces the typed text.
  const text = typed.over === shown ? typed.text : shown;
  const instant = typedAt(text, zone);
  const fault = text === shown ? undefined : faultOf(instant);
  const tell = () => {
    // An invalid text stays, and the field reports it.
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
