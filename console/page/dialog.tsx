import { useEffect, useId, useLayoutEffect, useRef } from 'react';
import type { ReactNode } from 'react';

/** A modal dialog; Escape closes it without a decision. */
export function Dialog({
  title,
  is_quiet = false,
  is_drawer = false,
  close,
  children,
}: {
  title: string;
  /** True if only screen readers get the title. */
  is_quiet?: boolean;
  /** True for a drawer with links, which a press beside it also closes. */
  is_drawer?: boolean;
  close: () => void;
  children: ReactNode;
}) {
  const place = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed before it is removed, so that the focus returns.
  useLayoutEffect(() => {
    const dialog = place.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  useEffect(() => {
    const dialog = place.current!;
    const press = ({ target }: MouseEvent) => {
      // A press beside it targets the dialog element; a link may point to the current page.
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
