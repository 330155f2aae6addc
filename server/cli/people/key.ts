import sql from 'sql-template-tag';
import { deleteApiKey, findApiKey, insertApiKey, lockOwner } from '../../api/api_keys/store.ts';
import { deleteServiceKey, findServiceKey } from '../../api/service_keys/store.ts';
import { findUserByEmail } from '../../api/users/store.ts';
import type { UserRow } from '../../api/users/store.ts';
import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { isoInstant } from '../../platform/clock.ts';
import { all_scopes, isScope } from '../../platform/http/caller/scopes.ts';
import { isLineOfText, line_of_text_rule } from '../../platform/line_of_text.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { CommandContext } from '../command_context.ts';
import { UserError, WrongUsageError } from '../user_error.ts';
import { sayWith } from '../process/with_process.ts';

const day_ms = 24 * 3_600_000;
const label_length_max = 100;

/**
 * Creates a key for a user and returns it; it is never shown again. Throws `UserError` for an
 * unknown address, and for a label that is empty, too long or not one line of text.
 */
export async function issueKey(
  deps: Deps,
  wanted: { email: string; label: string; scopes: string[]; expires_in_days: number | undefined },
): Promise<string> {
  const given = wanted.label.trim();
  if (given === '' || given.length > label_length_max || !isLineOfText(given))
    throw new WrongUsageError(
      `--label takes 1 to ${label_length_max} characters: ${line_of_text_rule}.`,
    );
  const user = await getKeyOwner(deps.db, wanted.email);
  const expires_at =
    wanted.expires_in_days === undefined
      ? null
      : isoInstant(deps.clock.now() + wanted.expires_in_days * day_ms);
  return deps.db.transaction(async (tx) => {
    const { value, id, label, mask_value, scopes } = await insertApiKey(tx, deps.secrets, {
      user_id: user.id,
      label: given,
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

/**
 * `sluice key create`: prints a new key once, on a line of its own. Works beside a running server
 * and without one.
 */
export async function createKey(
  context: CommandContext,
  options: { email?: string; label: string; scopes: string; expiresInDays?: string },
): Promise<number> {
  const scopes = options.scopes.split(',').map((scope) => scope.trim());
  const wrong = scopes.filter((scope) => !isScope(scope));
  if (wrong.length > 0)
    throw new WrongUsageError(
      `No such scope: ${wrong.join(', ')}. There are *, ${all_scopes.join(', ')}.`,
    );
  const days = options.expiresInDays === undefined ? undefined : Number(options.expiresInDays);
  if (days !== undefined && !(days > 0 && days <= 36_500))
    throw new WrongUsageError('--expires-in-days must be a number of days above 0.');
  const email = options.email ?? context.config.owner_email;
  const wanted = { email, label: options.label, scopes, expires_in_days: days };
  return sayWith(context, (deps) => issueKey(deps, wanted));
}

type ListedKey = {
  id: string;
  /** Null: the key belongs to the organization. */
  email: string | null;
  organization: string | null;
  label: string;
  mask_value: string;
  scopes: string[];
  expires_at: string | null;
  last_used_at: string | null;
  has_expired: boolean;
};

/**
 * Lists the keys of all users and organizations, or of the person with the address, newest first,
 * two lines each, without the keys themselves.
 */
export async function listKeys(
  { db }: Pick<Deps, 'db'>,
  { email, json = false }: { email?: string; json?: boolean },
): Promise<string> {
  const owner = email === undefined ? undefined : await getKeyOwner(db, email);
  const keys = await db.rows<ListedKey>(sql`
    SELECT k.id, k.email, k.organization, k.label, k.mask_value, k.scopes, k.expires_at,
      k.last_used_at, coalesce(k.expires_at <= now(), false) AS has_expired
    FROM (SELECT p.id, u.email, NULL AS organization, p.label, p.mask_value, p.scopes,
        p.expires_at, p.last_used_at, p.created_at, p.user_id
      FROM personal_api_keys p JOIN users u ON u.id = p.user_id
      UNION ALL SELECT s.id, NULL, o.slug, s.name, s.mask_value, s.scopes, s.expires_at,
        s.last_used_at, s.created_at, NULL
      FROM service_keys s JOIN organizations o ON o.id = s.organization_id) k
    WHERE ${owner?.id ?? null}::integer IS NULL OR k.user_id = ${owner?.id ?? null}::integer
    ORDER BY k.created_at DESC, k.id DESC`);
  if (json) return JSON.stringify(keys);
  return keys.length === 0 ? 'There are no keys.' : keys.map(describeKey).join('\n');
}

function describeKey(key: ListedKey): string {
  const expiry =
    key.expires_at === null
      ? 'never expires'
      : `${key.has_expired ? 'expired' : 'expires'} ${key.expires_at}`;
  const use = key.last_used_at === null ? 'never used' : `last used ${key.last_used_at}`;
  // The label as JSON, because anybody can choose it and terminals obey control characters.
  const owner = key.email ?? `organization ${key.organization}`;
  return `${key.id}  ${key.mask_value}  ${owner}  ${JSON.stringify(key.label)}
  ${key.scopes.join(', ')}; ${expiry}; ${use}`;
}

/**
 * Revokes a key: the next request with it is refused. Returns a sentence that confirms it. Throws
 * `UserError` if no key has the id.
 */
export async function revokeKey(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  id: string,
): Promise<string> {
  if (!isUuid(id))
    throw new WrongUsageError(`"${id}" is not the id of a key: see sluice key list.`);
  return db.transaction(async (tx) => {
    const owner = await tx.row<{ id: number; uuid: string; email: string }>(sql`
      SELECT u.id, u.uuid, u.email FROM personal_api_keys k JOIN users u ON u.id = k.user_id
        WHERE k.id = ${id}::uuid`);
    if (owner !== undefined) await lockOwner(tx, owner.id);
    const key =
      owner && (await findApiKey(tx, { user_id: owner.id, scoped_organizations: null }, id));
    if (owner === undefined || key === undefined) {
      const revoked = await revokeServiceKey(tx, secrets, id);
      if (revoked !== undefined) return revoked;
      throw new UserError(`There is no key with the id ${id}: see sluice key list.`);
    }
    await deleteApiKey(tx, id);
    await appendActivity(tx, secrets, { user_uuid: owner.uuid }, server_actor, {
      activity: 'deleted',
      scope: 'personal_api_key',
      item_id: id,
      item_name: key.label,
      changes: changesOf(key, undefined, ['last_used_at']),
    });
    return `The key ${JSON.stringify(key.label)} of ${owner.email} is revoked.`;
  });
}

/**
 * Revokes a service key in a transaction, like `revokeKey`; undefined if no service key has the id.
 */
async function revokeServiceKey(
  tx: Transaction,
  secrets: Deps['secrets'],
  id: string,
): Promise<string | undefined> {
  const place = await tx.row<{ organization_id: string; slug: string }>(sql`
    SELECT k.organization_id, o.slug FROM service_keys k
      JOIN organizations o ON o.id = k.organization_id WHERE k.id = ${id}::uuid`);
  if (place === undefined) return undefined;
  const { organization_id, slug } = place;
  const key = await findServiceKey(tx, organization_id, id, 'lock');
  if (key === undefined) return undefined;
  await deleteServiceKey(tx, id);
  await appendActivity(tx, secrets, { organization_id }, server_actor, {
    activity: 'deleted',
    scope: 'service_key',
    item_id: id,
    item_name: key.name,
    changes: changesOf(key, undefined, ['last_used_at', 'created_by']),
  });
  return `The service key ${JSON.stringify(key.name)} of the organization ${slug} is revoked.`;
}

async function getKeyOwner(db: Queryable, email: string): Promise<UserRow> {
  const user = await findUserByEmail(db, email);
  if (user !== undefined) return user;
  throw new UserError(`There is no user with the address ${email}; name another with --email.`);
}
