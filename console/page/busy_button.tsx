import { Button } from '@mantine/core';
import type { ButtonProps } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { hasNoFocus } from './around/focus.ts';

/**
 * A button that waits for what it has asked for. Meanwhile it cannot be pressed, by which the
 * browser takes the focus from it; it gets that back, unless the person has gone on.
 */
export function BusyButton({
  is_busy,
  is_primary = false,
  press,
  ...look
}: Omit<ButtonProps, 'loading' | 'disabled' | 'variant'> & {
  is_busy: boolean;
  /** True for the one action of the page that matters now. */
  is_primary?: boolean;
  press: () => void;
}) {
  const button = useRef<HTMLButtonElement>(null);
  const was_focused = useRef(false);
  useEffect(() => {
    if (is_busy) return;
    if (was_focused.current && hasNoFocus()) button.current?.focus();
    was_focused.current = false;
  }, [is_busy]);
  return (
    <Button
      ref={button}
      variant={is_primary ? 'filled' : 'default'}
      loading={is_busy}
      onClick={() => {
        was_focused.current = true;
        press();
      }}
      {...look}
    />
  );
}
