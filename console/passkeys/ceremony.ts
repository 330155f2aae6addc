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
import { pathTo } from '../http/path.ts';
import type { Answer, Body } from '../http/path.ts';

/** Returns true if passkeys work here: the browser supports them, and the page has a host name. */
export function arePasskeysOffered(): boolean {
  return browserSupportsWebAuthn() && !isAddress(location.hostname);
}

/** Lets the person show a passkey in a browser dialog. Throws a `Problem` if they show none. */
export async function showPasskey(): Promise<GivenPasskey> {
  const optionsJSON = await beginShowing();
  return problemOnFault(() => startAuthentication({ optionsJSON }) as Promise<GivenPasskey>);
}

/**
 * Lets the person show a passkey from the address field, while `isWanted`: a later browser request
 * ends this one. Undefined if they show none.
 */
export async function fillPasskeyIn(isWanted: () => boolean): Promise<GivenPasskey | undefined> {
  if (!arePasskeysOffered() || !(await browserSupportsWebAuthnAutofill())) return undefined;
  try {
    const optionsJSON = await beginShowing();
    if (!isWanted()) return undefined;
    const shown = await startAuthentication({ optionsJSON, useBrowserAutofill: true });
    return isWanted() ? (shown as GivenPasskey) : undefined;
  } catch {
    // The person signs in another way, or presses the button, which shows errors.
    return undefined;
  }
}

async function beginShowing(): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const outcome = await ask('POST', pathTo('/api/sessions/passkey/begin/'), { body: {} });
  if (!outcome.ok) throw outcome.problem;
  return outcome.body;
}

type CreatedPasskey = Body<'POST', '/api/users/@me/passkeys/'>['passkey'];

/** Lets the person create a passkey. Throws a `Problem` if they create none. */
export function createPasskey(options: Answer<'POST', '/api/users/@me/passkeys/begin/'>) {
  // Only an answer repeated for an idempotency key lacks the challenge.
  const optionsJSON = options as PublicKeyCredentialCreationOptionsJSON;
  return problemOnFault(() => startRegistration({ optionsJSON }) as Promise<CreatedPasskey>);
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
