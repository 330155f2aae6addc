import type { ActivityWanted } from '../../server/api/activity/schema.ts';
import { pathTo } from '../http/path.ts';
import type { Path } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** Filters and position of the activity in the address. */
export type Filter = Omit<ActivityWanted, 'after_number'> & { cursor?: string };

type Own = '/api/users/@me/activity/';
type All = '/api/organizations/:organization_id/activity/';

/** Reads the changes of the organization, or without one the person's own, newest first. */
export function activityOf(organization_id: string | undefined, filter: Filter) {
  const query = { limit: 50, ...filter };
  const path: Path<Own | All> =
    organization_id === undefined
      ? pathTo('/api/users/@me/activity/', {}, query)
      : pathTo('/api/organizations/:organization_id/activity/', { organization_id }, query);
  return reading(path);
}

/** Reads the chain of the organization's log, or of the person's own. */
export function chainOf(organization_id: string | undefined) {
  const path: Path<`${Own | All}chain/`> =
    organization_id === undefined
      ? pathTo('/api/users/@me/activity/chain/')
      : pathTo('/api/organizations/:organization_id/activity/chain/', { organization_id });
  return reading(path);
}

/** Returns the cursor in the address of another page of a list. */
export function cursorOf(link: string): string {
  return new URL(link, document.baseURI).searchParams.get('cursor') ?? '';
}
