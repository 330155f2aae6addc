import type { Static } from 'typebox';
import type { Accepted as AcceptedInvite, ShownInvite } from '../../server/api/invites/schema.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** An invite, as the invited person sees it. */
export type Invite = Static<typeof ShownInvite>;

/** The API's answer for an accepted invite. */
export type Accepted = Static<typeof AcceptedInvite>;

/** Reads an invite; the token is that of its link. */
export function inviteOf(id: string, token: string | undefined) {
  return reading(pathTo('/api/invites/:id/', { id }, { token }), { polls: false });
}

/** Returns the path that accepts the invite. */
export function acceptPath(id: string) {
  return pathTo('/api/invites/:id/accept/', { id });
}
