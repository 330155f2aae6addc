import { insertApiKey } from '../api/api_keys/store.ts';
import { findUserByEmail } from '../api/users/store.ts';
import type { Deps } from '../deps.ts';
import { appendActivity, server_actor } from '../platform/activity/chain.ts';
import { changesOf } from '../platform/activity/changes.ts';
import { isoInstant } from '../platform/clock.ts';
import { all_scopes, isScope } from '../platform/http/scopes.ts';
import type { CommandContext } from './command_context.ts';
import { openProcess } from './process.ts';
import { joinStores } from './stores.ts';
import { UserError } from './user_error.ts';

const day_ms = 24 * 3_600_000;

/** Makes a key for a user and gives it: the only time that it can be seen. Throws `UserError` for an address that nobody has. */
export async function makeKey(
  deps: Deps,
  wanted: { email: string; label: string; scopes: string[]; expires_in_days: number | undefined },
): Promise<string> {
  const user = await findUserByEmail(deps.db, wanted.email);
  if (user === undefined)
    throw new UserError(
      `There is no user with the address ${wanted.email}; name another with --email.`,
    );
  const expires_at =
    wanted.expires_in_days === undefined
      ? null
      : isoInstant(deps.clock.now() + wanted.expires_in_days * day_ms);
  return deps.db.transaction(async (tx) => {
    const { value, id, label, mask_value, scopes } = await insertApiKey(tx, deps.secrets, {
      user_id: user.id,
      label: wanted.label,
      scopes: wanted.scopes,
      expires_at,
    });
    const changes = changesOf(undefined, { label, mask_value, scopes, expires_at });
    await appendActivity(tx, deps.secrets, { user_uuid: user.uuid }, server_actor, {
      activity: 'created',
      scope: 'personal_api_key',
      item_id: id,
      item_name: label,
      changes,
    });
    return value;
  });
}

/** `sluice key create`: prints a new key once, on a line of its own. Works beside a running server and without one. */
export async function createKey(
  { config, log, say }: CommandContext,
  options: { email?: string; label: string; scopes: string; expiresInDays?: string },
): Promise<number> {
  const scopes = options.scopes.split(',').map((scope) => scope.trim());
  const wrong = scopes.filter((scope) => !isScope(scope));
  if (wrong.length > 0)
    throw new UserError(
      `No such scope: ${wrong.join(', ')}. There are *, ${all_scopes.join(', ')}.`,
    );
  const days = options.expiresInDays === undefined ? undefined : Number(options.expiresInDays);
  if (days !== undefined && !(days > 0 && days <= 36_500))
    throw new UserError('--expires-in-days must be a number of days above 0.');
  const stores = await joinStores(config, log, { start: 'existing' });
  try {
    const opened = await openProcess(config, stores, log, 'command');
    try {
      say(
        await makeKey(opened.deps, {
          email: options.email ?? config.owner_email,
          label: options.label,
          scopes,
          expires_in_days: days,
        }),
      );
      return 0;
    } finally {
      await opened.close();
    }
  } finally {
    await stores.close();
  }
}
