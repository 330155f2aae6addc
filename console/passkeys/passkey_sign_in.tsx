import { WebAuthnAbortService } from '@simplewebauthn/browser';
import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { GivenPasskey } from '../../server/api/passkeys/schema.ts';
import { ask } from '../http/ask.ts';
import type { Problem } from '../http/problem.ts';
import { BusyButton } from '../page/busy_button.tsx';
import { Sentence } from '../page/text/sentence.tsx';
import { arePasskeysOffered, fillPasskeyIn, showPasskey } from './ceremony.ts';
import { pathTo } from '../http/path.ts';

/** Shorter than the lifetime of a challenge, so that the field never offers an old one. */
const renewal_ms = 240_000;

/**
 * Signs in with a passkey alone: by a button, and from the address field if the browser supports
 * that.
 */
export function PasskeySignIn({ done }: { done: () => Promise<void> }) {
  const { mutate, isPending, error } = useMutation<void, Problem, GivenPasskey | void>({
    mutationFn: async (shown) => {
      const body = { passkey: shown ?? (await showPasskey()) };
      const outcome = await ask('POST', pathTo('/api/sessions/passkey/'), { body });
      if (!outcome.ok) throw outcome.problem;
      await done();
    },
  });
  useFilledIn(mutate, isPending);
  if (!arePasskeysOffered()) return undefined;
  return (
    <div className="ways">
      <BusyButton is_busy={isPending} press={() => mutate()}>
        Sign in with a passkey
      </BusyButton>
      {error !== null && (
        <p className="fault" role="alert">
          <Sentence text={error.message} />
        </p>
      )}
    </div>
  );
}

/** Lets the browser offer passkeys in the field, except while it asks for one in a dialog. */
function useFilledIn(shown: (passkey: GivenPasskey) => void, is_busy: boolean): void {
  useEffect(() => {
    if (is_busy) return;
    let is_over = false;
    const offer = async () => {
      const passkey = await fillPasskeyIn(() => !is_over);
      if (passkey !== undefined) shown(passkey);
    };
    void offer();
    const timer = setInterval(() => void offer(), renewal_ms);
    return () => {
      is_over = true;
      clearInterval(timer);
      WebAuthnAbortService.cancelCeremony();
    };
  }, [is_busy, shown]);
}
