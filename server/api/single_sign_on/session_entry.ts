import { changesOf } from '../../platform/activity/changes.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { SessionRow } from '../sessions/schema.ts';

/**
 * The entry of the person's own log for a session that began; `more` is what else is worth knowing
 * of it.
 */
export function sessionEntry(
  user: { id: number; uuid: string; email: string },
  session: SessionRow,
  more: Record<string, unknown> = {},
): Entry {
  const changes = changesOf(undefined, { ...session, ...more }, ['last_used_at', 'is_current']);
  const actor = { user_id: user.id, user_uuid: user.uuid, email: user.email };
  return {
    activity: 'created',
    scope: 'session',
    item_id: session.id,
    item_name: session.user_agent,
    changes,
    chain: { user_uuid: user.uuid },
    actor,
  };
}
