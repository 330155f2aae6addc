import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { counted } from '../../platform/counted.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { UserError, WrongUsageError } from '../user_error.ts';

const levels = [0, 3, 6, 9];

type Listed = {
  slug: string;
  name: string;
  id: string;
  level: number;
  members: number;
  published: string | null;
};

/**
 * All organizations, the oldest first, a line each: what they may do with plugins, and which of
 * their plugins every other organization can use.
 */
export async function listOrganizations(
  { db }: Pick<Deps, 'db'>,
  { json = false }: { json?: boolean } = {},
): Promise<string> {
  const rows = await db.rows<Listed>(sql`
    SELECT o.slug, o.name, o.id, o.plugins_access_level AS level,
      (SELECT count(*)::integer FROM members m WHERE m.organization_id = o.id) AS members,
      (SELECT string_agg(coalesce(p.name, 'plugin ' || p.id), ', ' ORDER BY p.id)
        FROM plugins p WHERE p.organization_id = o.id AND p.is_global) AS published
    FROM organizations o ORDER BY o.created_at, o.id`);
  if (json) return JSON.stringify(rows);
  if (rows.length === 0) return 'There are no organizations.';
  return rows
    .map(({ slug, name, id, level, members, published }) => {
      const facts = [`plugins level ${level}`, counted(members, 'member')];
      if (published !== null) facts.push(`publishes ${published}`);
      return [slug, name, id, facts.join(', ')].join('  ');
    })
    .join('\n');
}

/**
 * Sets what an organization (its id or slug) may do with plugins, as the doing of the server.
 * Throws `UserError` for an unknown organization or level.
 */
export async function setPluginsLevel(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  named: string,
  wanted: string,
): Promise<string> {
  const level = Number(wanted);
  if (wanted.trim() === '' || !levels.includes(level))
    throw new WrongUsageError(
      'The level must be 0 (no plugins), 3 (configure), 6 (install and change) or 9 (publish to ' +
        'all organizations).',
    );
  return db.transaction(async (tx) => {
    const organization_id = await findOrganizationId(tx, named);
    const before = (await tx.row<{ name: string; plugins_access_level: number }>(
      sql`SELECT name, plugins_access_level FROM organizations WHERE id = ${organization_id}::uuid`,
    ))!;
    const { name, plugins_access_level } = before;
    if (level === plugins_access_level)
      return `${name} has the plugins level ${level} already. Nothing was changed.`;
    await tx.run(sql`UPDATE organizations SET plugins_access_level = ${level}, updated_at = now()
      WHERE id = ${organization_id}::uuid`);
    await appendActivity(tx, secrets, { organization_id }, server_actor, {
      activity: 'updated',
      scope: 'organization',
      item_id: organization_id,
      item_name: name,
      changes: changesOf({ plugins_access_level }, { plugins_access_level: level }),
    });
    return `${name} has the plugins level ${level} now (before: ${plugins_access_level}).`;
  });
}

/**
 * Takes back what can shut all members of an organization (its id or slug) out: single sign-on for
 * everybody, and the ranges of addresses. It is logged as the doing of the server. Throws
 * `UserError` for an unknown organization.
 */
export async function openOrganization(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  named: string,
): Promise<string> {
  return db.transaction(async (tx) => {
    const organization_id = await findOrganizationId(tx, named);
    const { name, ...before } = (await tx.row<{ name: string; requires_sso: boolean }>(sql`
      SELECT name, requires_sso, allowed_ip_ranges FROM organizations
        WHERE id = ${organization_id}::uuid`))!;
    const changes = changesOf(before, { requires_sso: false, allowed_ip_ranges: [] });
    if (changes.length === 0) return `${name} shuts nobody out. Nothing was changed.`;
    await tx.run(sql`UPDATE organizations SET requires_sso = false, allowed_ip_ranges = '{}',
      updated_at = now() WHERE id = ${organization_id}::uuid`);
    await appendActivity(tx, secrets, { organization_id }, server_actor, {
      activity: 'updated',
      scope: 'organization_security',
      item_id: organization_id,
      item_name: name,
      changes,
    });
    return (
      `${name} is open to its members again, from every address. Its owners can set single ` +
      'sign-on and the ranges again on its security page.'
    );
  });
}

/**
 * The id of the organization with this id or slug, which stays until the transaction ends. Throws
 * `UserError` without one.
 */
export async function findOrganizationId(tx: Transaction, named: string): Promise<string> {
  const row = await tx.row<{ id: string }>(
    sql`SELECT id FROM organizations WHERE id::text = lower(${named}) OR slug = ${named}
      FOR NO KEY UPDATE`,
  );
  if (row === undefined)
    throw new UserError(`There is no organization with the id or slug ${named}.`);
  return row.id;
}
