import type { ReactNode } from 'react';

/** The place of a list without records: what will stand there, and the way to the first. */
export function Empty({
  title,
  children,
  way,
}: {
  title: string;
  children: ReactNode;
  /** A link or a button; left out for whoever may not do it. */
  way?: ReactNode;
}) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {way !== undefined && <div className="empty_way">{way}</div>}
    </div>
  );
}
