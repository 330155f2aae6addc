import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Caller, RecordPlace } from '../../platform/http/caller/access.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import { compose } from '../../platform/mail/compose.ts';
import type { MailContent } from '../../platform/mail/compose.ts';
import type { Mail } from '../../platform/mail/mail.ts';
import type { Outbox } from '../../platform/mail/outbox.ts';
import { oneLine } from '../../platform/mail/plain_text.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { managedBy } from '../managed/store.ts';
import { insertProject, isReached, placesOf } from '../projects/store.ts';
import { available_product_features } from './features.ts';
import type { OrganizationChanges, OrganizationFields, OrganizationRow } from './schema.ts';
import { slugBeside, slugOf } from './slug.ts';

const slug_attempts_max = 10;
const features_json = JSON.stringify(available_product_features);

/** Selects the fields of organization `o` in answers, for a caller with this level. */
const columns = (level: Sql) => sql`
  o.id, o.name, o.slug, o.created_at, o.updated_at, ${level} AS membership_level,
    o.plugins_access_level,
  (SELECT coalesce(json_agg(json_build_object('id', p.id, 'uuid', p.uuid, 'organization',
    p.organization_id, 'name', p.name, 'api_token', p.api_token,
      'timezone', p.timezone, 'created_at', wire_instant(p.created_at))
        ORDER BY p.created_at, p.id), '[]')
    FROM projects p WHERE p.organization_id = o.id) AS teams,
  ${features_json}::json AS available_product_features,
  o.is_member_join_email_enabled, o.metadata::text AS metadata, o.customer_id, o.enforce_2fa,
  o.forbids_agent_writes,
  ${memberCount(sql`o.id`)}::text AS member_count,
  ${managedBy('organization', sql`o.id`)} AS managed_by`;

/**
 * SQL for the memberships `m` that the caller's key may read: a key limited to projects reads no
 * organization.
 */
const visible = (caller: Caller) => sql`
  ${isReached(caller)} AND ${caller.scoped_teams}::integer[] IS NULL`;

/** Lists the caller's organizations, oldest first (ties by id). */
export function listOrganizations(caller: Caller): List {
  return {
    rows: (page) => sql`SELECT ${columns(sql`m.level`)} FROM ${placesOf(caller)} m
      JOIN organizations o ON o.id = m.organization_id
      WHERE ${visible(caller)} ORDER BY o.created_at, o.id
      LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM ${placesOf(caller)} m WHERE ${visible(caller)}`,
  };
}

/** Selects the organization of the place, for a member with this level. */
export function selectOrganization({
  organization_id,
  level,
}: Pick<RecordPlace, 'organization_id' | 'level'>): Sql {
  return sql`SELECT ${columns(level)} FROM organizations o WHERE o.id = ${organization_id}`;
}

/**
 * Returns the organization for a member with this level; with `lock`, nobody else can change or
 * delete it until the transaction ends.
 */
export function findOrganization(
  db: Queryable,
  id: string,
  level: number,
  lock?: 'lock',
): Promise<OrganizationRow | undefined> {
  const selected = selectOrganization({
    organization_id: sql`${id}::uuid`,
    level: sql`${level}::integer`,
  });
  return db.row<OrganizationRow>(sql`${selected} ${locking(lock, 'FOR UPDATE OF o')}`);
}

/** Returns whether the server has no organization yet, and the person's highest level. */
export async function findStanding(
  db: Queryable,
  user_id: number,
): Promise<{ is_first: boolean; is_owner: boolean; is_member: boolean }> {
  const standing = await db.row<{ is_first: boolean; is_owner: boolean; is_member: boolean }>(sql`
    SELECT NOT EXISTS (SELECT 1 FROM organizations) AS is_first,
      EXISTS (SELECT 1 FROM members WHERE user_id = ${user_id} AND level = 15) AS is_owner,
      EXISTS (SELECT 1 FROM members WHERE user_id = ${user_id}) AS is_member`);
  return standing!;
}

/** Returns the name of the organization; empty if it does not exist. */
export async function getOrganizationName(db: Queryable, id: string): Promise<string> {
  const row = await db.row<{ name: string }>(
    sql`SELECT name FROM organizations WHERE id = ${id}::uuid`,
  );
  return row?.name ?? '';
}

/**
 * Creates an organization with its first project and the user as its owner. Concurrent
 * organizations with the same name get different slugs. It may install plugins (6). Only the
 * server's first start and its operator give the right to publish them to all organizations (9).
 */
export async function insertOrganization(
  tx: Transaction,
  fields: OrganizationFields,
  user_id: number,
  plugins_access_level: 6 | 9 = 6,
): Promise<OrganizationRow> {
  const id = uuidv7();
  await insertWithSlug(tx, id, { ...fields, plugins_access_level });
  await tx.run(
    sql`INSERT INTO members (id, organization_id, user_id, level)
      VALUES (${uuidv7()}, ${id}, ${user_id}, 15)`,
  );
  await insertProject(tx, { organization_id: id, name: 'Default project', timezone: 'UTC' });
  const row = await findOrganization(tx, id, 15);
  if (row === undefined)
    throw new Error('An organization disappeared in the transaction that created it.');
  return row;
}

/**
 * Applies the sent fields; without one, `updated_at` stays unchanged. The caller holds the lock.
 */
export async function updateOrganization(
  tx: Transaction,
  id: string,
  changes: OrganizationChanges,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await tx.run(
    sql`UPDATE organizations SET ${assignments(changes)}, updated_at = now()
      WHERE id = ${id}::uuid`,
  );
}

/**
 * Deletes the organization and by cascade all its data: memberships, invites, domains, projects,
 * exports, plugins. A worker with one of its runs finds the run's row missing, cleans up at the
 * destination and stops.
 */
export async function deleteOrganization(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM organizations WHERE id = ${id}::uuid`);
}

/**
 * A taken slug returns no row instead of an error, which would abort the transaction. The insert
 * waits for another transaction that is creating the same slug.
 */
async function insertWithSlug(
  tx: Transaction,
  id: string,
  fields: OrganizationFields & { plugins_access_level: number },
): Promise<void> {
  const first = slugOf(fields.name);
  for (let attempt = 0; attempt < slug_attempts_max; attempt += 1) {
    const slug = attempt === 0 ? first : slugBeside(first);
    const inserted = await tx.run(sql`
      INSERT INTO organizations (id, name, slug, is_member_join_email_enabled, enforce_2fa,
        forbids_agent_writes, plugins_access_level)
      VALUES (${id}, ${fields.name}, ${slug}, ${fields.is_member_join_email_enabled ?? true},
        ${fields.enforce_2fa ?? null}, ${fields.forbids_agent_writes ?? false},
        ${fields.plugins_access_level})
      ON CONFLICT (slug) DO NOTHING`);
    if (inserted === 1) return;
  }
  throw new Error(`No free slug was found for an organization in ${slug_attempts_max} attempts.`);
}

/**
 * SQL that counts the active members of an organization: all, by members_by_organization alone,
 * minus the few in users_inactive.
 */
export function memberCount(organization_id: Sql): Sql {
  return sql`((SELECT count(*) FROM members WHERE members.organization_id = ${organization_id})
    - (SELECT count(*) FROM users JOIN members ON members.user_id = users.id
      WHERE NOT users.is_active AND members.organization_id = ${organization_id}))`;
}

/**
 * Mails every active owner of the organization, and `also`, in the transaction of the reported
 * change; the mails are sent after the commit. Without a relay, no mail is written.
 */
export async function tellOwners(
  { mail, outbox }: { mail: Mail; outbox: Outbox },
  { tx, afterwards }: { tx: Transaction; afterwards: Afterwards },
  organization_id: string,
  said: Pick<MailContent, 'heading' | 'paragraphs'>,
  also: string[] = [],
): Promise<void> {
  if (!mail.is_configured) return;
  const owners = await tx.rows<{ email: string }>(
    sql`SELECT u.email FROM members m JOIN users u ON u.id = m.user_id
      WHERE m.organization_id = ${organization_id}::uuid AND u.is_active AND m.level = 15
      ORDER BY u.id`,
  );
  const footer = 'You get this mail because it is about who can sign in to your organization.';
  const message = { subject: oneLine(said.heading), ...compose({ ...said, footer }) };
  const addresses = new Set([...owners.map(({ email }) => email), ...also]);
  await outbox.post(
    { tx, afterwards },
    [...addresses].map((to) => ({ message: { ...message, to } })),
  );
}

/**
 * Returns true if a project of another organization has a config of one of the organization's
 * plugins; nobody can create such a config until the transaction ends.
 */
export async function arePluginsUsedElsewhere(
  tx: Transaction,
  organization_id: string,
): Promise<boolean> {
  // Locks in the order of ids, so that two of these cannot deadlock; a new config locks its plugin
  // FOR SHARE.
  const own = await tx.rows<{ id: number }>(
    sql`SELECT p.id FROM plugins p WHERE p.organization_id = ${organization_id}::uuid ORDER BY p.id
      FOR UPDATE`,
  );
  if (own.length === 0) return false;
  const other = await tx.row(sql`
    SELECT 1 FROM plugins p JOIN plugin_configs c ON c.plugin_id = p.id JOIN projects t
      ON t.id = c.team_id
    WHERE p.organization_id = ${organization_id}::uuid
      AND t.organization_id <> ${organization_id}::uuid LIMIT 1`);
  return other !== undefined;
}
