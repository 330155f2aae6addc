import { setTimeout as delay } from 'node:timers/promises';
import type { Deps } from '../../deps.ts';
import { inviteMail } from './invite_mail.ts';
import { linkOf } from './link.ts';
import { markEmailed } from './store.ts';
import type { Sender, StoredInvite } from './store.ts';

/**
 * Fewer than the connections to the relay, so that a single invite does not wait behind a thousand.
 */
const mails_at_once = 3;
/**
 * So long an answer waits for the mails of a bulk; those that are not out by then go out after it.
 */
const bulk_wait_ms = 3_000;
/**
 * A relay that hangs holds each mail for seconds: what is not out by then is left to be sent again
 * by hand.
 */
const bulk_ms_max = 600_000;

/** Sends the mails of invites that are committed. */
export type InviteMailing = {
  /**
   * Sends one mail and gives the invite as it is then: `emailing_attempt_made` is true when the
   * relay has taken it.
   */
  sendOne(sender: Sender, invite: StoredInvite): Promise<StoredInvite>;
  /**
   * Sends many, in their order, and gives the invites as they are after 3 seconds at most; the rest
   * goes out meanwhile, and lists show what became of it.
   */
  sendMany(sender: Sender, invites: StoredInvite[]): Promise<StoredInvite[]>;
  /** Begins no further mail and waits for those under way. */
  close(): Promise<void>;
};

/**
 * Opens the sending of invites for one app. Nothing here rejects but for the control store failing
 * under `sendOne`; why a mail did not go out is in the log of the mails.
 */
export function openInviteMailing(deps: Deps): InviteMailing {
  const { mail, clock, log } = deps;
  const under_way = new Set<Promise<unknown>>();
  let is_closing = false;

  async function sendAll(
    sender: Sender,
    invites: StoredInvite[],
    present: StoredInvite[],
  ): Promise<void> {
    const ends_at = clock.now() + bulk_ms_max;
    // The lanes take turns at one iterator.
    const waiting = invites.entries();
    const lane = async () => {
      for (const [index, invite] of waiting) {
        if (is_closing || clock.now() > ends_at) return;
        try {
          present[index] = await sendOne(deps, sender, invite);
        } catch (error) {
          log.error(
            { err: error, invite_id: invite.record.id },
            'it could not be noted that the mail of an invite went out',
          );
        }
      }
    };
    await Promise.all(Array.from({ length: mails_at_once }, lane));
  }

  return {
    sendOne: (sender, invite) => sendOne(deps, sender, invite),
    sendMany: async (sender, invites) => {
      const present = [...invites];
      if (!mail.is_configured) return present;
      const sending = sendAll(sender, invites, present);
      under_way.add(sending);
      const ended = sending.finally(() => under_way.delete(sending));
      const patience = new AbortController();
      await Promise.race([
        ended,
        delay(bulk_wait_ms, undefined, { signal: patience.signal }).catch(() => undefined),
      ]);
      patience.abort();
      return [...present];
    },
    close: async () => {
      is_closing = true;
      await Promise.all(under_way);
    },
  };
}

async function sendOne(deps: Deps, sender: Sender, invite: StoredInvite): Promise<StoredInvite> {
  const { mail, db, clock } = deps;
  if (!mail.is_configured) return invite;
  if (!(await mail.send(inviteMail(sender, invite, linkOf(deps, invite))))) return invite;
  const updated_at = await markEmailed(db, invite, clock.now());
  return {
    ...invite,
    record: {
      ...invite.record,
      emailing_attempt_made: true,
      updated_at: updated_at ?? invite.record.updated_at,
    },
  };
}
