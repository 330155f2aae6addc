import { Button } from '@mantine/core';
import { useLayoutEffect, useRef } from 'react';
import { confirmPerson } from '../http/confirming.ts';

/**
 * Asks the person to confirm that it is they, and reads what is on the screen again. When it
 * goes by that, the page has the focus next.
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
    <Button ref={place} size="compact-sm" variant="default" onClick={() => void confirmPerson()}>
      Confirm that it is you
    </Button>
  );
}
