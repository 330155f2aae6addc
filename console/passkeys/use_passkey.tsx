import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { GivenPasskey } from '../../server/api/passkeys/schema.ts';
import { BusyButton } from '../page/busy_button.tsx';
import { arePasskeysOffered, showPasskey } from './ceremony.ts';

/** A shown passkey for a form, which is sent once. */
export type ShownPasskey = {
  /** The second factor to send: the shown passkey, once, or else the code. */
  factor: (code: string | undefined) => { passkey?: GivenPasskey; code?: string };
  keep: (passkey: GivenPasskey) => void;
};

/** The state of a form for a passkey instead of a code. */
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
 * A button that lets the person show a passkey instead of a code, and then sends the surrounding
 * form. Nothing if the browser does not support passkeys.
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
