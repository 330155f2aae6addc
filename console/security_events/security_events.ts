import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';
import type { Query } from '../http/path.ts';

/** Filters and position of the security events in the address. */
export type EventFilter = Pick<
  Query<'/api/organizations/:organization_id/security_events/'>,
  'event' | 'user' | 'after' | 'before' | 'cursor'
>;

/** The matching security events of an organization, newest first. */
export function securityEventsOf(organization_id: string, filter: EventFilter) {
  const query = { limit: 50, ...filter };
  return reading(
    pathTo('/api/organizations/:organization_id/security_events/', { organization_id }, query),
  );
}

/** The latest security events about the signed-in person. */
export const own_security_events = reading(
  pathTo('/api/users/@me/security_events/', {}, { limit: 10 }),
);
