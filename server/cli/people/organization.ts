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
 * Lists all organizations, oldest first, a line each: their plugins level, and the plugins that
 * they publish to all.
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
 * Sets an organization's (id or slug) plugins level, as an action of the server. Throws `UserError`
 * for an unknown organization or level.
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
      return `${name} already has the plugins level ${level}. Nothing was changed.`;
    await tx.run(sql`UPDATE organizations SET plugins_access_level = ${level}, updated_at = now()
      WHERE id = ${organization_id}::uuid`);
    await appendActivity(tx, secrets, { organization_id }, server_actor, {
      activity: 'updated',
      scope: 'organization',
      item_id: organization_id,
      item_name: name,
      changes: changesOf({ plugins_access_level }, { plugins_access_level: level }),
    });
    return `${name} now has the plugins level ${level} (before: ${plugins_access_level}).`;
  });
}

/**
 * Removes settings that can shut all members of an organization (id or slug) out: single sign-on
 * for everybody, and IP ranges. The log records it as an action of the server. Throws `UserError`
 * for an unknown organization.
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
    if (changes.length === 0) return `${name} has no such settings. Nothing was changed.`;
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
      'sign-on and the IP ranges again on its security page.'
    );
  });
}

/**
 * Returns the id of the organization with this id or slug, which cannot be deleted until the
 * transaction ends. Throws `UserError` if there is none.
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
