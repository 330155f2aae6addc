import { useEffect, useLayoutEffect, useRef } from 'react';
import type { ReactNode } from 'react';

/**
 * Something that has just come of what was done: it gets the focus, so that it is read out. When it
 * goes with the focus in it, the heading of its section has it next.
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
