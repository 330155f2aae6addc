import type { SecurityEventRow } from '../../server/api/security_events/schema.ts';
import type { Continued } from '../http/list.ts';
import { reading } from '../http/reading.ts';
import { organizationPath } from '../signed_in/organization.ts';

/** The filters of the security events, with the place in them, as the address has it. */
export type EventFilter = {
  event?: string;
  user?: string;
  after?: string;
  before?: string;
  cursor?: string;
};

/** The security events of an organization, newest first, as far as the filter takes them. */
export function securityEventsOf(organization_id: string, filter: EventFilter) {
  const query = new URLSearchParams({ limit: '50', ...filter }).toString();
  return reading<Continued<SecurityEventRow>>(
    `${organizationPath(organization_id)}security_events/?${query}`,
  );
}

/** The latest of what is about who is signed in. */
export const own_security_events = reading<Continued<SecurityEventRow>>(
  '/api/users/@me/security_events/?limit=10',
);
