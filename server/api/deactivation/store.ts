import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { forbidden } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';

/**
 * SQL that is true if a directory of the organization has deactivated the user and its domain is
 * verified, so only the directory can activate them again.
 */
export function isBarred(organization_id: Sql, user_id: Sql): Sql {
  return sql`EXISTS (SELECT 1 FROM scim_users barred JOIN domains home ON home.id = barred.domain_id
    WHERE barred.user_id = ${user_id} AND barred.deactivated_level IS NOT NULL
      AND home.organization_id = ${organization_id} AND home.state = 'verified')`;
}

/**
 * SQL that is true if a person managed by a directory of the organization had this address before.
 * No sign-in with it creates a member, because that would be a second account of the same person.
 */
export function isLeft(organization_id: Sql, email: string): Sql {
  return sql`EXISTS (SELECT 1 FROM scim_left_addresses past
    JOIN domains home ON home.id = past.domain_id
    WHERE home.organization_id = ${organization_id} AND home.state = 'verified'
      AND past.address_hash = scim_address_hash(${email}))`;
}

/**
 * SQL that is true if a directory of a verified domain has deactivated a person with an address in
 * that domain. Their company has excluded them from this server.
 */
export function isPutOut(user_id: Sql): Sql {
  return sql`EXISTS (
    SELECT 1 FROM scim_users s JOIN domains d ON d.id = s.domain_id JOIN users u ON u.id = s.user_id
    WHERE s.user_id = ${user_id} AND s.deactivated_level IS NOT NULL AND d.state = 'verified'
      AND right(comparable_address(u.email), length(d.domain) + 1) = '@' || d.domain)`;
}

/** Evaluates `isPutOut` for one user. */
export async function isDeactivatedByDirectory(
  db: Queryable,
  user_id: number | null,
): Promise<boolean> {
  const row = await db.row<{ is_out: boolean }>(
    sql`SELECT ${isPutOut(sql`${user_id}::integer`)} AS is_out`,
  );
  return row!.is_out;
}

/**
 * Throws 403 for a person (null: a service key) whom their company's directory has deactivated.
 * `what` completes the sentence "you cannot ...": "create organizations".
 */
export async function refuseDeactivated(
  db: Queryable,
  user_id: number | null,
  what: string,
): Promise<void> {
  if (await isDeactivatedByDirectory(db, user_id)) throw putOut(what);
}

/** Returns the 403 of `refuseDeactivated`. */
export function putOut(what: string): ApiError {
  return forbidden(
    `The directory of your company has deactivated you, so you cannot ${what} here. Ask your ` +
      'company to activate you again.',
  );
}

/** The refusal when a caller would let in a person again whom the directory has deactivated. */
export const deactivated_detail =
  'The directory of the organization has deactivated this person: activate them in the ' +
  'directory (docs/scim.md).';
