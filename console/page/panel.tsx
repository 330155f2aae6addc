import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';

/** Something that has just come of what was done: it gets the focus, so that it is read out. */
export function Panel({ children }: { children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus(), []);
  return (
    <div className="panel" tabIndex={-1} ref={place}>
      {children}
    </div>
  );
}
