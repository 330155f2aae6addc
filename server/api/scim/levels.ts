import sql from 'sql-template-tag';
import { appendActivities } from '../../platform/activity/chain.ts';
import type { Activity, Actor } from '../../platform/activity/chain.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import type { Level } from '../members/schema.ts';
import type { DomainPlace } from './store.ts';

/** Entries hashed at a time: some milliseconds of the event loop. */
const lot = 250;

/** Returns true if a group of the directory has a level. */
export async function hasLevels(tx: Transaction, domain_id: string): Promise<boolean> {
  const row = await tx.row(sql`SELECT 1 FROM scim_groups WHERE domain_id = ${domain_id}::uuid
    AND level IS NOT NULL LIMIT 1`);
  return row !== undefined;
}

/**
 * Gives every person whom the directory manages the highest level of their groups, or else 1.
 * Owners stay unchanged, because only owners promote and demote them. `had_levels`: a group had a
 * level before this change, so removing the last level also resets the people. With `user_id`,
 * changes only that person. The caller holds the organization's lock. Returns the people whose
 * level has changed.
 */
export async function settleLevels(
  tx: Transaction,
  { domain_id, domain, organization }: DomainPlace,
  had_levels: boolean,
  user_id: number | null = null,
): Promise<Activity[]> {
  if (!had_levels && !(await hasLevels(tx, domain_id))) return [];
  const changed = await tx.rows<{ uuid: string; email: string; before: Level; after: Level }>(sql`
    WITH wanted AS (
      SELECT s.user_id, coalesce(max(g.level), 1) AS level FROM scim_users s
        LEFT JOIN (scim_group_members gm JOIN scim_groups g ON g.id = gm.group_id
          AND g.domain_id = ${domain_id}::uuid) ON gm.user_id = s.user_id
      WHERE s.domain_id = ${domain_id}::uuid
        AND (${user_id}::integer IS NULL OR s.user_id = ${user_id}::integer) GROUP BY s.user_id)
    UPDATE members m SET level = w.level, updated_at = now()
    FROM wanted w, members old, users u
    WHERE m.organization_id = ${organization.id}::uuid AND m.user_id = w.user_id
      AND m.level <> 15 AND m.level <> w.level AND old.id = m.id AND u.id = m.user_id
    RETURNING u.uuid, u.email, old.level AS before, w.level AS after`);
  return changed.map(({ uuid, email, before, after }) => ({
    activity: 'updated',
    scope: 'member',
    item_id: uuid,
    item_name: email,
    changes: [
      ...changesOf({ level: before }, { level: after }),
      ...changesOf(undefined, { method: 'scim', domain }),
    ],
  }));
}

/** Like `settleLevels`, with an activity entry for each changed level; returns the addresses. */
export async function settleAndTell(
  tx: Transaction,
  secrets: Secrets,
  place: DomainPlace,
  actor: Actor,
  had_levels: boolean,
): Promise<string[]> {
  const { id } = place.organization;
  const entries = await settleLevels(tx, place, had_levels);
  for (let first = 0; first < entries.length; first += lot) {
    const some = entries.slice(first, first + lot);
    await appendActivities(tx, secrets, { organization_id: id }, actor, some);
  }
  return entries.map(({ item_name }) => item_name!);
}
