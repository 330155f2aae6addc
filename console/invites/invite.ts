import type { Static } from 'typebox';
import type { Accepted as AcceptedInvite, ShownInvite } from '../../server/api/invites/schema.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** An invite as whoever it is for sees it. */
export type Invite = Static<typeof ShownInvite>;

/** What the API says of an invite that was accepted. */
export type Accepted = Static<typeof AcceptedInvite>;

/** What an invite is for; the token is that of its link. */
export function inviteOf(id: string, token: string | undefined) {
  return reading(pathTo('/api/invites/:id/', { id }, { token }), { polls: false });
}

/** Where the invite is accepted in the API. */
export function acceptPath(id: string) {
  return pathTo('/api/invites/:id/accept/', { id });
}
