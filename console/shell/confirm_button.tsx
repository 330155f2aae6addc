import { Button } from '@mantine/core';
import { useLayoutEffect, useRef } from 'react';
import { confirmPerson } from '../http/confirming.ts';

/**
 * A button that asks the person to confirm their identity, and then reads the visible data again.
 * If the button disappears, the page gets the focus.
 */
export function ConfirmButton() {
  const place = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const button = place.current;
    const main = button?.closest('main');
    return () => {
      if (button === document.activeElement) main?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <Button ref={place} size="compact-sm" onClick={() => void confirmPerson()}>
      Confirm that it is you
    </Button>
  );
}
