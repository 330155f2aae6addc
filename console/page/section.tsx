import {
  createContext,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import type { ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { hasNoFocus } from './around/focus.ts';

/** The section around a form, which shows the form's results. */
const SectionContext = createContext<string | undefined>(undefined);

/** The last message and its section; the person's next action clears it. */
let latest: { told: string; section?: string | undefined } = { told: '' };
const listeners = new Set<() => void>();

function tell(told: string, section?: string): void {
  if (told === '' && latest.told === '') return;
  latest = { told, section };
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** A part of a page with a heading, which shows the results of its actions. */
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
  const id = useId();
  const told = useSyncExternalStore(listen, () => (latest.section === id ? latest.told : ''));
  useEffect(() => {
    // The pressed button may have disappeared. If the person has moved on, the focus stays.
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
      <SectionContext value={id}>{children}</SectionContext>
    </section>
  );
}

/** A rarely used part, shown after a press on its summary; `is_open` shows it from the start. */
export function Seldom({
  summary,
  is_open = false,
  is_late = false,
  toggled,
  children,
}: {
  summary: string;
  is_open?: boolean;
  /** True if its content calls the server, so that it is rendered when opened. */
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

/** Call it at the start of a change: it clears the last message, which was about another change. */
export function begun(): void {
  tell('');
}

type Changed = { queryKey: string[] };

/**
 * Returns the function for the end of a change: it reads the changed data again, and then shows the
 * result in the section.
 */
export function useDone(): (told: string, ...changed: [Changed, ...Changed[]]) => Promise<void> {
  const queries = useQueryClient();
  const section = useContext(SectionContext);
  return async (told, ...changed) => {
    begun();
    await Promise.all(
      changed.map(({ queryKey }) => queries.invalidateQueries({ queryKey, exact: true })),
    );
    if (section !== undefined) tell(told, section);
  };
}
