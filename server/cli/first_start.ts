import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { insertApiKey } from '../api/api_keys/store.ts';
import { insertOrganization } from '../api/organizations/store.ts';
import { insertUser } from '../api/users/store.ts';
import type { Deps } from '../deps.ts';
import { appendActivity, server_actor } from '../platform/activity/chain.ts';
import { changesOf } from '../platform/activity/changes.ts';
import { createApiKey } from '../platform/http/caller/api_key.ts';
import { hashPassword } from '../platform/passwords/password.ts';

/** The advisory lock that lets one process create the first owner. */
const first_start_lock = 7_301_003;

/** Values that the operator sees once. `password` is undefined if it was configured. */
export type FirstStart = { email: string; password: string | undefined; api_key: string };

/**
 * Creates the owner, "My organization" with "Default project" and a key with all scopes if this
 * database had no first start; otherwise returns undefined. Guarantee: two processes that start at
 * once do it once, and a crash in between leaves nothing behind.
 */
export async function firstStart(
  deps: Pick<Deps, 'db' | 'config' | 'secrets'>,
): Promise<FirstStart | undefined> {
  const { db, config, secrets } = deps;
  if (await db.row(sql`SELECT 1 FROM server_facts WHERE name = 'first_start'`)) return undefined;
  const password = config.owner_password ?? randomBytes(15).toString('base64url');
  const api_key = config.owner_api_key ?? createApiKey();
  const password_hash = await hashPassword(password);
  return db.transaction(async (tx) => {
    await tx.row(sql`SELECT pg_advisory_xact_lock(${first_start_lock})`);
    const fact = await tx.run(
      sql`INSERT INTO server_facts (name, value) VALUES ('first_start', '{}')
        ON CONFLICT (name) DO NOTHING`,
    );
    if (fact === 0) return undefined;
    const user = await insertUser(tx, { email: config.owner_email, password_hash });
    const organization = await insertOrganization(tx, { name: 'My organization' }, user.id, 9);
    await insertApiKey(
      tx,
      secrets,
      { user_id: user.id, label: 'First start', scopes: ['*'] },
      api_key,
    );
    const created = {
      activity: 'created',
      scope: 'organization',
      item_id: organization.id,
      item_name: organization.name,
      changes: changesOf(undefined, { name: organization.name }),
    };
    await appendActivity(tx, secrets, { organization_id: organization.id }, server_actor, created);
    return {
      email: config.owner_email,
      password: config.owner_password === undefined ? password : undefined,
      api_key,
    };
  });
}
