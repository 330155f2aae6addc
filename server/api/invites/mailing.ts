import { setTimeout as delay } from 'node:timers/promises';
import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import type { NewMail } from '../../platform/mail/outbox.ts';
import { mapInTurns } from '../../platform/pacing/turns.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { inviteMail } from './invite_mail.ts';
import { linkOf } from './link.ts';
import { open_for_ms } from './schema.ts';
import { findPresent } from './store.ts';
import type { Sender, StoredInvite } from './store.ts';

/**
 * Writes the mails of new or renewed invites, each with its current link, and returns their ids for
 * `sendInvites`. A mail is not sent once the invite is deleted, has another link, or has expired.
 * The mails of a bulk with long messages take half a second to compose; other requests get turns in
 * between.
 */
export async function writeInviteMails(
  tx: Transaction,
  deps: Deps,
  sender: Sender,
  invites: StoredInvite[],
): Promise<string[]> {
  const mails = await mapInTurns(invites, (invite): NewMail => ({
    message: inviteMail(sender, invite, linkOf(deps, invite)),
    link: {
      name: `invite:${invite.record.id}:${invite.token_nonce}`,
      expires_at_ms: Date.parse(invite.sent_at) + open_for_ms,
    },
  }));
  return deps.outbox.write(tx, mails);
}

/**
 * Starts sending these mails, and returns the invites after every mail was attempted, or after
 * `wait_ms`. Remaining mails follow later. `emailing_attempt_made` is true if the relay has
 * accepted the mail.
 */
export async function sendInvites(
  { outbox, db, clock }: Deps,
  mails: string[],
  invites: StoredInvite[],
  wait_ms?: number,
): Promise<StoredInvite[]> {
  if (mails.length === 0) return invites;
  const sent = outbox.send(mails);
  const waiting = new AbortController();
  const options = { signal: waiting.signal };
  await (wait_ms === undefined
    ? sent
    : Promise.race([sent, delay(wait_ms, undefined, options).catch(() => undefined)]));
  waiting.abort();
  return findPresent(db, invites, clock.now());
}

/**
 * Records that the relay has accepted the mail with this link, if it is the current link of an
 * invite.
 */
export async function noteMailTaken(tx: Transaction, link: string, now_ms: number): Promise<void> {
  const [kind, id, nonce] = link.split(':');
  if (kind !== 'invite') return;
  await tx.run(sql`
    UPDATE invites SET emailing_attempt_made = true, updated_at = ${isoInstant(now_ms)}::timestamptz
    WHERE id = ${id}::uuid AND token_nonce = ${nonce}::uuid`);
}
