import { useEffect, useLayoutEffect, useRef } from 'react';
import type { ReactNode } from 'react';

/**
 * The result of an action: it gets the focus, so that screen readers read it. If it is removed with
 * the focus inside, its section's heading gets the focus.
 */
export function Panel({ children }: { children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), []);
  useLayoutEffect(() => {
    const panel = place.current!;
    const heading = panel.closest('section')?.querySelector<HTMLElement>('h2[tabindex]');
    return () => {
      if (panel.contains(document.activeElement)) heading?.focus();
    };
  }, []);
  return (
    <div className="panel" tabIndex={-1} ref={place}>
      {children}
    </div>
  );
}
