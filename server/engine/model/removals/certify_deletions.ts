import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { project_tables, vacuum } from './vacuum.ts';

/** Tables that name a person and lose rows with a deleted user or organization. */
const people_tables = [
  'agent_grants',
  'bulk_actions',
  'configuration_objects',
  'idempotency_keys',
  'invites',
  'mails',
  'members',
  'notice_deliveries',
  'notice_targets',
  'organizations',
  'personal_api_keys',
  'recovery_codes',
  'service_idempotency_keys',
  'service_keys',
  'sessions',
  'setup_links',
  'social_identities',
  'user_links',
  'users',
] as const;

type Deletion = {
  id: string;
  kind: 'user' | 'organization';
  counts: Record<string, number>;
  requested_at: string;
};

type Certifying = { db: Database; clock: Clock; secrets: Pick<Secrets, 'sign'> };

/**
 * Certifies deleted users and organizations and returns how many. An organization is certified once
 * the analytics store has no events and persons of its projects. Vacuums the dead rows out of the
 * tables first. It may run repeatedly and in several processes at once.
 */
export async function certifyDeletions({ db, clock, secrets }: Certifying): Promise<number> {
  const due = await db.rows<Deletion>(sql`
    SELECT id, kind, counts, requested_at FROM deletions deletion WHERE ended_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM removals WHERE removals.organization_id = deletion.id
        AND removals.ended_at IS NULL)
    ORDER BY requested_at LIMIT 100`);
  if (due.length === 0) return 0;
  const isOfOrganizations = due.some(({ kind }) => kind === 'organization');
  await vacuum(db, isOfOrganizations ? [...people_tables, ...project_tables] : people_tables);
  let certified = 0;
  for (const { id, kind, counts, requested_at } of due) {
    const removed = await db.rows<object>(sql`SELECT team_id, events, persons FROM removals
      WHERE organization_id = ${id}::uuid ORDER BY team_id`);
    const ended_at = isoInstant(clock.now());
    const certificate = JSON.stringify({
      kind,
      id,
      requested_at,
      certified_at: ended_at,
      rows: counts,
      ...(kind === 'organization' ? { projects: removed } : {}),
    });
    certified += await db.run(sql`UPDATE deletions SET ended_at = ${ended_at},
      certificate = ${certificate}, signature = ${secrets.sign(certificate)}
      WHERE id = ${id}::uuid AND ended_at IS NULL`);
  }
  return certified;
}
