import type { ActivityWanted } from '../../server/api/activity/schema.ts';
import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** What narrows the activity, with the place in it, as the address has it. */
export type Filter = Omit<ActivityWanted, 'after_number'> & { cursor?: string };

/** What was changed in an organization, newest first, as far as it fits the filter. */
export function activityOf(organization_id: string, filter: Filter) {
  const query = { limit: 50, ...filter };
  return reading(
    pathTo('/api/organizations/:organization_id/activity/', { organization_id }, query),
  );
}

/** How the chain of an organization's log stands. */
export function chainOf(organization_id: string) {
  return reading(
    pathTo('/api/organizations/:organization_id/activity/chain/', { organization_id }),
  );
}

/** The cursor in the address of another page of a list. */
export function cursorOf(link: string): string {
  return new URL(link, document.baseURI).searchParams.get('cursor') ?? '';
}
