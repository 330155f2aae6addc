import {
  WebAuthnError,
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import type { GivenPasskey } from '../../server/api/passkeys/schema.ts';
import { ask } from '../http/ask.ts';
import { Problem } from '../http/problem.ts';
import { isAddress, refusalWords } from './words.ts';

/** Whether passkeys can be shown here: the browser has them, and the page is under a host name. */
export function arePasskeysOffered(): boolean {
  return browserSupportsWebAuthn() && !isAddress(location.hostname);
}

/** Whether the browser offers passkeys in the field for the address. */
export async function areFilledIn(): Promise<boolean> {
  return arePasskeysOffered() && (await browserSupportsWebAuthnAutofill());
}

/**
 * Lets the person show a passkey, in a window of the browser or, `filled_in`, from the field for
 * the address. Throws a `Problem` when they show none.
 */
export async function showPasskey(filled_in?: 'filled_in'): Promise<GivenPasskey> {
  const outcome = await ask<PublicKeyCredentialRequestOptionsJSON>(
    'POST',
    '/api/sessions/passkey/begin/',
    { body: {} },
  );
  if (!outcome.ok) throw outcome.problem;
  const optionsJSON = outcome.body;
  const useBrowserAutofill = filled_in !== undefined;
  return problemOnFault(
    () => startAuthentication({ optionsJSON, useBrowserAutofill }) as Promise<GivenPasskey>,
  );
}

/** Lets the person create a passkey. Throws a `Problem` when they create none. */
export function createPasskey(optionsJSON: PublicKeyCredentialCreationOptionsJSON) {
  return problemOnFault(() => startRegistration({ optionsJSON }));
}

async function problemOnFault<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    const cause = error instanceof WebAuthnError ? error.cause : error;
    const name = cause instanceof Error ? cause.name : '';
    const detail = refusalWords(name, location.host);
    throw new Problem(400, [{ attr: null, code: 'error', detail }]);
  }
}
