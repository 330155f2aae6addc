import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';
import type { Query } from '../http/path.ts';

/** The filters of the security events, with the place in them, as the address has it. */
export type EventFilter = Pick<
  Query<'/api/organizations/:organization_id/security_events/'>,
  'event' | 'user' | 'after' | 'before' | 'cursor'
>;

/** The security events of an organization, newest first, as far as the filter takes them. */
export function securityEventsOf(organization_id: string, filter: EventFilter) {
  const query = { limit: 50, ...filter };
  return reading(
    pathTo('/api/organizations/:organization_id/security_events/', { organization_id }, query),
  );
}

/** The latest of what is about who is signed in. */
export const own_security_events = reading(
  pathTo('/api/users/@me/security_events/', {}, { limit: 10 }),
);
