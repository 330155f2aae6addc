import { Waiting } from '../page/shown.tsx';

/** Replaces the frame while the session is being read, if that takes a while. */
export function Opening() {
  return (
    <main className="main">
      <Waiting />
    </main>
  );
}
