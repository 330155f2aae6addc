import { useEffect, useId, useLayoutEffect, useRef } from 'react';
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
  /** True for ways to elsewhere, which close it, as a press beside it does. */
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
  useEffect(() => {
    const dialog = place.current!;
    const press = ({ target }: MouseEvent) => {
      // Beside it is the dialog itself; a link may lead to the page that is shown.
      if (target === dialog || (target instanceof Element && target.closest('a') !== null)) close();
    };
    if (is_drawer) dialog.addEventListener('click', press);
    return () => dialog.removeEventListener('click', press);
  }, [is_drawer, close]);
  return (
    <dialog
      ref={place}
      className={is_drawer ? 'drawer' : 'dialog'}
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
