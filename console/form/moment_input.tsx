import { TextInput } from '@mantine/core';
import IconCalendar from 'icon:calendar';
import { useContext, useRef, useState } from 'react';
import type { ComponentProps } from 'react';
import { ZoneContext } from '../time/instant.tsx';
import { typedAt } from '../time/zone.ts';
import './moment_input.css';

/** Text for an input that is neither a day nor a day and a time. */
export const form_told = 'Type a day and a time, such as 2026-11-28 22:00.';

/**
 * An instant in the project's time zone: typed as `2026-11-28 22:00`, or chosen in the browser's
 * calendar.
 */
export function MomentInput({
  label,
  value,
  set,
  error,
  ...given
}: Omit<ComponentProps<typeof TextInput>, 'label' | 'value' | 'onChange' | 'rightSection'> & {
  label: string;
  value: string;
  set: (text: string) => void;
}) {
  const zone = useContext(ZoneContext);
  const calendar = useRef<HTMLInputElement>(null);
  const [is_typing, setTyping] = useState(false);
  const is_wrong = !is_typing && value !== '' && typedAt(value, zone) === undefined;
  return (
    <TextInput
      {...given}
      label={label}
      placeholder="2026-11-28 22:00"
      autoComplete="off"
      value={value}
      error={is_wrong ? form_told : error}
      onFocus={() => setTyping(true)}
      onBlur={(event) => {
        setTyping(false);
        given.onBlur?.(event);
      }}
      onKeyDown={(event) => {
        // Enter ends typing, so that faults are shown.
        if (event.key === 'Enter') setTyping(false);
        given.onKeyDown?.(event);
      }}
      onChange={({ currentTarget }) => {
        setTyping(true);
        set(currentTarget.value);
      }}
      rightSectionPointerEvents="auto"
      rightSection={
        <span className="calendar">
          <input
            ref={calendar}
            type="datetime-local"
            tabIndex={-1}
            aria-hidden
            value={typedAt(value, zone) === undefined ? '' : value.trim().replace(/[T ]+/, 'T')}
            onChange={({ currentTarget }) => set(currentTarget.value.replace('T', ' '))}
          />
          <button
            type="button"
            aria-label="Open a calendar"
            onClick={() => calendar.current!.showPicker()}
          >
            <IconCalendar size={16} aria-hidden />
          </button>
        </span>
      }
    />
  );
}
