import sql, { raw } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { deleteLinks, createLink } from '../../api/account/links.ts';
import {
  findUserByEmail,
  insertUser,
  removeSecondFactor,
  updateUser,
} from '../../api/users/store.ts';
import type { UserRow } from '../../api/users/store.ts';
import { endSessions } from '../../api/sessions/store.ts';
import { createSignInLink } from '../../api/single_sign_on/let_in.ts';
import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { user_has_second_factor } from '../../platform/http/caller/second_factor.ts';
import { isAddress } from '../../platform/mail/mailbox.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { findOrganizationId } from './organization.ts';
import { UserError, WrongUsageError } from '../user_error.ts';

/**
 * Lists all accounts by address, a line each: their ways to sign in, their organizations and
 * levels.
 */
export async function listUsers(
  { db }: Pick<Deps, 'db'>,
  { json = false }: { json?: boolean } = {},
): Promise<string> {
  const users = await db.rows<{ email: string; states: string[]; memberships: string[] }>(sql`
    SELECT u.email,
      array_remove(ARRAY[
        CASE WHEN u.is_active THEN 'active' ELSE 'not active' END,
        CASE WHEN u.password_hash IS NULL THEN 'no password' END,
        CASE WHEN ${raw(user_has_second_factor)} THEN 'second factor' END], NULL) AS states,
      ARRAY(SELECT o.slug || ' (level ' || m.level || ')'
        FROM members m JOIN organizations o ON o.id = m.organization_id
        WHERE m.user_id = u.id ORDER BY o.slug) AS memberships
    FROM users u ORDER BY comparable_address(u.email)`);
  if (json) return JSON.stringify(users);
  if (users.length === 0) return 'There are no users.';
  return users
    .map(({ email, states, memberships }) =>
      [email, states.join(', '), memberships.join(', ') || 'no organization'].join('  '),
    )
    .join('\n');
}

/**
 * Creates a user without a password, and a membership if an organization (id or slug) is named;
 * returns the link with which they choose a password. Sends no mail. Throws `UserError` for a taken
 * or invalid address, and an unknown organization or level.
 */
export async function createUser(
  deps: Deps,
  wanted: { email: string; organization?: string; level: string },
): Promise<string> {
  const { email, organization } = wanted;
  const level = Number(wanted.level);
  if (!isAddress(email)) throw new WrongUsageError(`${email} is not an e-mail address.`);
  if (![1, 8, 15].includes(level))
    throw new WrongUsageError('--level must be 1 (member), 8 (administrator) or 15 (owner).');
  try {
    return await deps.db.transaction(async (tx) => {
      const organization_id =
        organization === undefined ? undefined : await findOrganizationId(tx, organization);
      const user = await insertUser(tx, { email, password_hash: null });
      const { url } = await createLink(tx, deps, 'reset_password', user.id, null);
      await log(deps, tx, user, 'created', changesOf(undefined, { email }));
      if (organization_id !== undefined) await join(deps, tx, organization_id, user, level);
      return url;
    });
  } catch (error) {
    if (isDatabaseError(error) && error.constraint === 'users_email_unique')
      throw new UserError(`A user with the address ${email} already exists.`);
    throw error;
  }
}

/**
 * Returns a link with which the user chooses a new password, valid once for an hour. With
 * `secondFactor`, removes their second factor at once, including passkeys. For people who have lost
 * both, and for servers without mail. Throws `UserError` if nobody has the address or the user is
 * not active.
 */
export async function resetUser(
  deps: Deps,
  wanted: { email: string; secondFactor?: boolean },
): Promise<string> {
  return deps.db.transaction(async (tx) => {
    const user = await getUser(tx, wanted.email);
    if (!user.is_active)
      throw new UserError(
        `${user.email} is not active: activate the account first (sluice user activate ` +
          `--email ${user.email}).`,
      );
    if (wanted.secondFactor === true) await removeSecondFactor(tx, user.id);
    const { url } = await createLink(tx, deps, 'reset_password', user.id, null);
    await log(
      deps,
      tx,
      user,
      'requested_reset',
      wanted.secondFactor === true ? [secretChange('second_factor', 'deleted')] : [],
    );
    return url;
  });
}

/**
 * Returns a link that signs an administrator or owner in once within 15 minutes, even if single
 * sign-on is enforced: for an outage or wrong settings of the identity provider. Throws `UserError`
 * if no active user has the address or they are no administrator.
 */
export async function letIn(deps: Deps, email: string): Promise<string> {
  const link = await createSignInLink(deps, email);
  if ('url' in link) return link.url;
  throw new UserError(
    link.refused === 'unknown'
      ? `There is no active user with the address ${email}.`
      : `${email} is not an administrator or owner of an organization; ask an administrator for ` +
          'a new link.',
  );
}

/**
 * Lets the user in again, or keeps them out: all their sessions end, their keys are refused at
 * once, and their links become invalid. Their memberships stay. Throws `UserError` if nobody has
 * the address.
 */
export async function setUserActive(
  deps: Deps,
  email: string,
  is_active: boolean,
): Promise<string> {
  return deps.db.transaction(async (tx) => {
    const user = await getUser(tx, email);
    await updateUser(tx, user.id, { is_active });
    if (!is_active) {
      await deleteLinks(tx, user.id);
      await endSessions(tx, user.id, null);
    }
    await log(
      deps,
      tx,
      user,
      is_active ? 'activated' : 'deactivated',
      changesOf({ is_active: user.is_active }, { is_active }),
    );
    return `${user.email} is ${is_active ? 'active' : 'no longer active'}.`;
  });
}

async function getUser(tx: Transaction, email: string): Promise<UserRow> {
  const user = await findUserByEmail(tx, email);
  if (user === undefined) throw new UserError(`There is no user with the address ${email}.`);
  return user;
}

async function join(
  deps: Deps,
  tx: Transaction,
  organization_id: string,
  user: UserRow,
  level: number,
): Promise<void> {
  await tx.run(
    sql`INSERT INTO members (id, organization_id, user_id, level)
      VALUES (${uuidv7()}, ${organization_id}::uuid, ${user.id}, ${level})`,
  );
  const entry = {
    activity: 'joined',
    scope: 'member',
    item_id: user.uuid,
    item_name: user.email,
    changes: changesOf(undefined, { level }),
  };
  await appendActivity(tx, deps.secrets, { organization_id }, server_actor, entry);
}

/** Logged as an action of the server, because nobody knows who uses the terminal. */
async function log(
  deps: Deps,
  tx: Transaction,
  { uuid, email }: UserRow,
  activity: string,
  changes: Change[],
): Promise<void> {
  await appendActivity(tx, deps.secrets, { user_uuid: uuid }, server_actor, {
    activity,
    scope: 'user',
    item_id: uuid,
    item_name: email,
    changes,
  });
}
