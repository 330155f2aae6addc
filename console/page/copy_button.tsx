import { Button } from '@mantine/core';
import { useState } from 'react';

const words = {
  no: 'Copy',
  yes: 'Copied',
  refused: 'The browser did not allow copying. Select the text instead',
} as const;

/**
 * Copies a text. Browsers allow copying only over https and on localhost; elsewhere there is no
 * button. Its message belongs to the copied text, so a changed text clears it.
 */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState<{ text: string; state: keyof typeof words }>();
  const state = done?.text === text ? done.state : 'no';
  // The types wrongly say that every page has one.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard === undefined) return undefined;
  const copy = () =>
    clipboard.writeText(text).then(
      () => setDone({ text, state: 'yes' }),
      () => setDone({ text, state: 'refused' }),
    );
  return (
    <Button size="compact-sm" onClick={() => void copy()}>
      <span aria-live="polite">{words[state]}</span>
      <span className="unseen"> {what}</span>
    </Button>
  );
}
