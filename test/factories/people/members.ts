import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { insertApiKey } from '../../../server/api/api_keys/store.ts';
import type { ApiKeyFields } from '../../../server/api/api_keys/store.ts';
import { insertOrganization } from '../../../server/api/organizations/store.ts';
import type { OrganizationRow } from '../../../server/api/organizations/schema.ts';
import { insertUser } from '../../../server/api/users/store.ts';
import type { UserRow } from '../../../server/api/users/store.ts';
import type { Deps } from '../../../server/deps.ts';
import { isoInstant } from '../../../server/platform/clock.ts';
import {
  createSessionToken,
  session_lifetime_ms,
} from '../../../server/platform/http/caller/session.ts';

/** A person and their key. */
export type Caller = { user: UserRow; key: string };
/** An organization with its project, and a caller in it. */
export type OwnOrganization = Caller & {
  organization: OrganizationRow;
  project: { id: number; uuid: string; api_token: string };
};

async function newUser(deps: Deps): Promise<UserRow> {
  return deps.db.transaction((tx) =>
    insertUser(tx, { email: `${randomUUID()}@example.com`, password_hash: null }),
  );
}

/** Creates another key of the person. */
export async function newKey(
  deps: Deps,
  user: { id: number },
  fields: Partial<ApiKeyFields> = {},
): Promise<string> {
  return (
    await insertApiKey(deps.db, deps.secrets, {
      label: 'test',
      scopes: ['*'],
      ...fields,
      user_id: user.id,
    })
  ).value;
}

/** Returns the `cookie` header of a browser in which the person is signed in. */
export async function newSession(deps: Deps, user: { id: number }): Promise<string> {
  const token = createSessionToken();
  const [now, end] = [
    isoInstant(deps.clock.now()),
    isoInstant(deps.clock.now() + session_lifetime_ms),
  ];
  await deps.db.run(sql`
    INSERT INTO sessions (id, user_id, token_hash, token_created_at, method, ip, user_agent,
      created_at, last_used_at, expires_at)
    VALUES (${uuidv7()}, ${user.id}, ${deps.secrets.hash(token)}, ${now}, 'password', '127.0.0.1',
      'test', ${now}, ${now}, ${end})`);
  return `sluice_session=${token}`;
}

/** Makes a person a member of the organization. */
export async function addMember(
  deps: Deps,
  organization_id: string,
  user: { id: number },
  level: number,
): Promise<void> {
  await deps.db.run(
    sql`INSERT INTO members (id, organization_id, user_id, level)
      VALUES (${uuidv7()}, ${organization_id}::uuid, ${user.id}, ${level})`,
  );
}

/** Another person, with a key, in the organization. */
export async function newMember(
  deps: Deps,
  organization_id: string,
  level: number,
  scopes: string[] = ['*'],
): Promise<Caller> {
  const user = await newUser(deps);
  await addMember(deps, organization_id, user, level);
  return { user, key: await newKey(deps, user, { scopes }) };
}

/** Creates an organization with a project, and a caller with the level and a key. */
export async function newOrganization(
  deps: Deps,
  options: { level?: 1 | 8 | 15; scopes?: string[]; name?: string } = {},
): Promise<OwnOrganization> {
  const owner = await newUser(deps);
  const organization = await deps.db.transaction((tx) =>
    insertOrganization(tx, { name: options.name ?? 'Test' }, owner.id),
  );
  const project = organization.teams[0]!;
  if (options.level !== undefined && options.level !== 15)
    return {
      organization,
      project,
      ...(await newMember(deps, organization.id, options.level, options.scopes)),
    };
  return {
    organization,
    project,
    user: owner,
    key: await newKey(deps, owner, options.scopes === undefined ? {} : { scopes: options.scopes }),
  };
}

/** Sets up the person's second factor, with codes that nobody knows. */
export async function giveSecondFactor(deps: Deps, user: { id: number }): Promise<void> {
  await deps.db.run(sql`UPDATE users SET totp_confirmed_at = now() WHERE id = ${user.id}`);
}
