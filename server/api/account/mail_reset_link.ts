import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { accountEntry } from './activity.ts';
import { createLink } from './links.ts';
import { resetMail } from './mails.ts';
import type { Identity } from '../users/store.ts';

type Asked = Pick<FastifyRequest, 'ip' | 'id'>;

/**
 * Creates a link to choose a new password, mails it to the user, and logs the address of the
 * requester, who is not signed in. Never throws, because the answer does not wait for it; the
 * server's log gets the error.
 */
export async function mailResetLink(deps: Deps, user: Identity, asked: Asked): Promise<void> {
  try {
    await deps.outbox.send(await writeLoggedLink(deps, user, asked));
  } catch (error) {
    deps.log.error(
      { err: error, request_id: asked.id },
      'a link to choose a new password could not be created',
    );
  }
}

function writeLoggedLink(deps: Deps, user: Identity, { ip, id }: Asked): Promise<string[]> {
  return deps.db.transaction(async (tx) => {
    const link = await createLink(tx, deps, 'reset_password', user.id, user.email);
    const { activity, scope, item_id, item_name, changes } = accountEntry(
      'requested_reset',
      user,
      [],
    );
    await appendActivity(
      tx,
      deps.secrets,
      { user_uuid: user.uuid },
      { ...server_actor, ip, request_id: id },
      { activity, scope, item_id, item_name, changes },
    );
    return deps.outbox.write(tx, [{ message: resetMail(user.email, link.url), link }]);
  });
}
