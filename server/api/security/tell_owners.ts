import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { tellOwners } from '../organizations/store.ts';

const labels: Record<string, string> = {
  provider_is_second_factor: "whether the provider's sign-in counts as a second factor",
  requires_sso: 'single sign-on for all members',
  session_hours_max: 'the longest session',
  idle_minutes_max: 'the longest idle time',
  allowed_ip_ranges: 'the allowed IP ranges',
  accepted_providers: 'the accepted providers',
  exempt_members: 'the members who need no single sign-on',
};

/** Mails all owners about the changes; writes no mail without one. */
export async function tellOfSecurity(
  deps: Pick<Deps, 'mail' | 'outbox'>,
  written: { tx: Transaction; afterwards: Afterwards },
  request: FastifyRequest,
  changes: Change[],
): Promise<void> {
  if (changes.length === 0) return;
  const fields = new Set(changes.map(({ field }) => labels[field] ?? field));
  await tellOwners(deps, written, request.access.organization_id, {
    heading: 'The security settings of your organization were changed',
    paragraphs: [
      `${personOf(request).email} changed (from ${request.ip}): ${[...fields].join(', ')}.`,
      'If you do not expect this change, check the security page of the organization and its ' +
        'activity log.',
    ],
  });
}
