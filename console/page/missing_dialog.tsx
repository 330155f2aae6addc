import { Button } from '@mantine/core';
import { Dialog } from './dialog.tsx';

/** Replaces a dialog whose code could not be loaded. */
export function MissingDialog({ close }: { close: () => void }) {
  return (
    <Dialog title="This could not be loaded" close={close}>
      <p>Check your connection, then load the page again in the browser.</p>
      <Button onClick={close}>Close</Button>
    </Dialog>
  );
}
