import type { Static } from 'typebox';
import type { Accepted as AcceptedInvite, ShownInvite } from '../../server/api/invites/schema.ts';
import { reading } from '../http/reading.ts';

/** An invite as whoever it is for sees it. */
export type Invite = Static<typeof ShownInvite>;

/** What the API says of an invite that was accepted. */
export type Accepted = Static<typeof AcceptedInvite>;

/** What an invite is for; the token is that of its link. */
export function inviteOf(id: string, token: string | undefined) {
  const query = token === undefined ? '' : `?${new URLSearchParams({ token }).toString()}`;
  return reading<Invite>(`${invitePath(id)}${query}`, { polls: false });
}

/** The invite in the API. */
export function invitePath(id: string): string {
  return `/api/invites/${encodeURIComponent(id)}/`;
}
