import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { accountEntry } from './activity.ts';
import { makeLink } from './links.ts';
import { resetMail } from './mails.ts';
import type { Identity } from './store.ts';

/** Makes a link to choose a new password, mails it to the user's address, and logs who asked: anybody, of whom only the address is known. */
export async function mailResetLink(deps: Deps, user: Identity, { ip, id }: Pick<FastifyRequest, 'ip' | 'id'>): Promise<void> {
  const link = await deps.db.transaction(async (tx) => {
    const made = await makeLink(tx, deps, 'reset_password', user.id, user.email);
    const { chain, ...activity } = accountEntry('requested_reset', user, []);
    await appendActivity(tx, deps.secrets, { user_uuid: user.uuid }, { ...server_actor, ip, request_id: id }, activity);
    return made;
  });
  await deps.mail.send(resetMail(user.email, link));
}
