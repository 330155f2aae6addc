import type { InviteRow } from '../../server/api/invites/schema.ts';
import type { Listed } from '../http/list.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { organizationPath } from '../signed_in/organization.ts';

/** One page of the invites that nobody has accepted yet. */
export function invites(organization_id: string, page: number) {
  return reading<Listed<InviteRow>>(`${sentInvitesPath(organization_id)}${pageQuery(page)}`, {
    // The mails of a long list go out after the answer.
    is_busy: ({ results }) => results.some((one) => !one.emailing_attempt_made && !one.is_expired),
  });
}

/** The invites of an organization in the API. */
export function sentInvitesPath(organization_id: string): string {
  return `${organizationPath(organization_id)}invites/`;
}
