import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { GivenPasskey } from '../../server/api/passkeys/schema.ts';
import { BusyButton } from '../page/busy_button.tsx';
import { arePasskeysOffered, showPasskey } from './ceremony.ts';

/** A passkey that was shown for a form, and is sent once. */
export type ShownPasskey = {
  /** The second factor to send: the passkey that was shown, once; else the code. */
  factor: (code: string | undefined) => { passkey?: GivenPasskey; code?: string };
  keep: (passkey: GivenPasskey) => void;
};

/** The place of a form for a passkey in place of a code. */
export function useShownPasskey(): ShownPasskey {
  const kept = useRef<GivenPasskey>(undefined);
  const [shown] = useState(() => ({
    keep: (passkey: GivenPasskey) => void (kept.current = passkey),
    factor: (code: string | undefined) => {
      const passkey = kept.current;
      kept.current = undefined;
      return passkey === undefined ? { code } : { passkey };
    },
  }));
  return shown;
}

/**
 * A button that lets the person show a passkey in place of a code, and sends the form around it
 * with that. Nothing where the browser has none.
 */
export function UsePasskey({ shown }: { shown: ShownPasskey }) {
  const place = useRef<HTMLDivElement>(null);
  const { mutate, isPending, error } = useMutation<GivenPasskey>({
    mutationFn: () => showPasskey(),
    onSuccess: (passkey) => {
      shown.keep(passkey);
      place.current?.closest('form')?.requestSubmit();
    },
  });
  if (!arePasskeysOffered()) return undefined;
  return (
    <div ref={place}>
      <BusyButton is_busy={isPending} press={() => mutate()}>
        Use a passkey instead
      </BusyButton>
      {error !== null && (
        <p className="fault" role="alert">
          {error.message}
        </p>
      )}
    </div>
  );
}
