import { Waiting } from '../page/shown.tsx';

/** In the place of the frame while it is asked who is signed in, where that takes a while. */
export function Opening() {
  return (
    <main className="main">
      <Waiting />
    </main>
  );
}
