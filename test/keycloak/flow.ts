import assert from 'node:assert/strict';
import { eventually } from '../eventually.ts';
import type { Visit } from './visit.ts';
import type { World } from './world.ts';

/** A flow from start to end, in its own companies. */
export type Flow = { name: string; walk(world: World): Promise<void> };

/** Returns the person who is signed in at the end of a visit; fails if there is none. */
export async function signedIn({ end, text, ask }: Visit): Promise<Record<string, any>> {
  assert.equal(end, 'account', text);
  return ask(200, 'GET', '/api/users/@me/');
}

/** Fails unless our page refused the visit for this reason, and nobody is signed in. */
export async function assertRefused(world: World, visit: Visit, reason: string): Promise<void> {
  assert.equal(visit.end, 'refused', visit.text);
  assert.deepEqual(world.reasons(), [reason]);
  await visit.ask(401, 'GET', '/api/users/@me/');
}

/** Waits for a mail to the address with this subject. */
export async function assertTold({ mail }: World, email: string, subject: RegExp): Promise<void> {
  await eventually(`no mail ${subject} came to ${email}`, () =>
    mail.mails.some(({ to, content }) => to.includes(email) && subject.test(content.subject ?? '')),
  );
}
