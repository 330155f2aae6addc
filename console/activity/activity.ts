import type { ActivityWanted } from '../../server/api/activity/schema.ts';
import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** Filters of the activity, with the position in it, as in the address. */
export type Filter = Omit<ActivityWanted, 'after_number'> & { cursor?: string };

/** Reads the changes in an organization that match the filter, newest first. */
export function activityOf(organization_id: string, filter: Filter) {
  const query = { limit: 50, ...filter };
  return reading(
    pathTo('/api/organizations/:organization_id/activity/', { organization_id }, query),
  );
}

/** Reads the chain of an organization's log. */
export function chainOf(organization_id: string) {
  return reading(
    pathTo('/api/organizations/:organization_id/activity/chain/', { organization_id }),
  );
}

/** The cursor in the address of another page of a list. */
export function cursorOf(link: string): string {
  return new URL(link, document.baseURI).searchParams.get('cursor') ?? '';
}
