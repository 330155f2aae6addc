import { useLayoutEffect, useId, useRef } from 'react';
import type { ReactNode } from 'react';

/** Something to decide before anything else; Escape closes it without a decision. */
export function Dialog({
  title,
  is_quiet = false,
  is_drawer = false,
  close,
  children,
}: {
  title: string;
  /** True if the title is for screen readers alone. */
  is_quiet?: boolean;
  /** True for ways to elsewhere at the edge of the window: a link in it, or a press beside it, closes it. */
  is_drawer?: boolean;
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
      className={is_drawer ? 'drawer' : 'dialog'}
      // Also where a link leads to the page that is shown. Beside it is the dialog itself.
      onClick={({ target }) => {
        if (!is_drawer || !(target instanceof Element)) return;
        if (target === place.current || target.closest('a') !== null) close();
      }}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <h2 id={id} className={is_quiet || is_drawer ? 'unseen' : ''}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}
