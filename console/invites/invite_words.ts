import type { InviteRow } from '../../server/api/invites/schema.ts';

type Invite = Pick<InviteRow, 'emailing_attempt_made' | 'is_expired'>;

/**
 * Says what to do about invites without a mail, such as on a server without a relay; undefined
 * after a mail. Without a link in the answer, a late mail will still be sent.
 */
export function unsentNote(
  created: (Pick<Invite, 'emailing_attempt_made'> & { link?: string })[],
): string | undefined {
  if (created.some(({ emailing_attempt_made }) => emailing_attempt_made)) return undefined;
  if (created.every(({ link }) => link === undefined))
    return 'No mail was sent yet. Sluice retries for a day.';
  const links = created.length === 1 ? 'the link' : 'the links';
  return `No mail was sent. Give people ${links} below.`;
}

/** Returns the state of an invite. */
export function inviteState({ is_expired, emailing_attempt_made }: Invite): {
  word: string;
  tone: string;
} {
  if (is_expired) return { word: 'Expired: send it again', tone: 'warn' };
  return emailing_attempt_made
    ? { word: 'Open', tone: 'good' }
    : { word: 'Open, no mail was sent', tone: 'warn' };
}
