import type { ReactNode } from 'react';

/** The placeholder of an empty list: its purpose, and the way to the first record. */
export function Empty({
  title,
  children,
  way,
}: {
  title: string;
  children: ReactNode;
  /** A link or a button; left out if the person may not use it. */
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
