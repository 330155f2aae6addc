import { useLayoutEffect, useId, useRef } from 'react';
import type { ReactNode } from 'react';

/** Something to decide before anything else; Escape closes it without a decision. */
export function Dialog({
  title,
  is_quiet = false,
  close,
  children,
}: {
  title: string;
  /** True if the title is for screen readers alone. */
  is_quiet?: boolean;
  close: () => void;
  children: ReactNode;
}) {
  const place = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed before it is taken away, so that the focus goes back to where it was.
  useLayoutEffect(() => {
    const dialog = place.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={place}
      className="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <h2 id={id} className={is_quiet ? 'unseen' : ''}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}
