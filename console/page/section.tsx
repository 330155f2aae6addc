import { createContext, useContext, useEffect, useId, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { hasNoFocus } from './around/focus.ts';

/** Says in the section what was done, and leads readers to its heading. */
const TellContext = createContext<(told: string) => void>(() => undefined);

/** A part of a page under a heading; what was done in it is said under that. */
export function Section({
  title,
  is_wide = false,
  children,
}: {
  title: string;
  /** True for a table, which takes the available width. */
  is_wide?: boolean;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const [told, setTold] = useState('');
  const id = useId();
  useEffect(() => {
    // The button that was pressed may be gone. Whoever is elsewhere by now stays there.
    if (told !== '' && hasNoFocus()) heading.current?.focus();
  }, [told]);
  return (
    <section aria-labelledby={id} className={is_wide ? 'section wide' : 'section'}>
      <h2 id={id} ref={heading} tabIndex={-1}>
        {title}
      </h2>
      <p role="status" className="good">
        {told}
      </p>
      <TellContext value={setTold}>{children}</TellContext>
    </section>
  );
}

/** Something that is done seldom: shown once its summary is pressed; `is_open` from the start. */
export function Seldom({
  summary,
  is_open = false,
  is_late = false,
  toggled,
  children,
}: {
  summary: string;
  is_open?: boolean;
  /** True if its content asks the server, and is drawn once somebody opens it. */
  is_late?: boolean;
  /** Called when a person opens or closes it. */
  toggled?: () => void;
  children: ReactNode;
}) {
  const [was_opened, setOpened] = useState(is_open);
  const toggle = () => {
    setOpened(true);
    toggled?.();
  };
  return (
    <details className="seldom" open={is_open} onToggle={toggle}>
      <summary>{summary}</summary>
      {(was_opened || !is_late) && children}
    </details>
  );
}

/** For the beginning of a change: what was said of the one before is no word on this one. */
export function useBegun(): () => void {
  const tell = useContext(TellContext);
  return () => tell('');
}

/**
 * For the end of a change: reads anew what it may have changed, and then says in the section what
 * was done.
 */
export function useDone(): (told: string, ...changed: { queryKey: string[] }[]) => Promise<void> {
  const queries = useQueryClient();
  const tell = useContext(TellContext);
  return async (told, ...changed) => {
    tell('');
    await Promise.all(
      changed.map(({ queryKey }) => queries.invalidateQueries({ queryKey, exact: true })),
    );
    tell(told);
  };
}
