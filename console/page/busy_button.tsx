import { Button } from '@mantine/core';
import type { ButtonProps } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { hasNoFocus } from './around/focus.ts';

/**
 * A button that waits for its request. It is disabled meanwhile, by which it loses the focus;
 * afterwards it gets the focus back, unless the person has moved on.
 */
export function BusyButton({
  is_busy,
  is_primary = false,
  press,
  ...look
}: Omit<ButtonProps, 'loading' | 'disabled' | 'variant'> & {
  is_busy: boolean;
  /** True for the page's most important action. */
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
