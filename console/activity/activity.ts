import type { ActivityWanted } from '../../server/api/activity/schema.ts';
import { pathTo } from '../http/path.ts';
import type { Path } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** Filters of the activity, with the position in it, as in the address. */
export type Filter = Omit<ActivityWanted, 'after_number'> & { cursor?: string };

type Log = '/api/organizations/:organization_id/activity/';

/** Reads the changes of the organization, or without one the person's own, newest first. */
export function activityOf(organization_id: string | undefined, filter: Filter) {
  const query = { limit: 50, ...filter };
  return reading(
    organization_id === undefined
      ? // Both logs answer the same.
        (pathTo('/api/users/@me/activity/', {}, query) as string as Path<Log>)
      : pathTo('/api/organizations/:organization_id/activity/', { organization_id }, query),
  );
}

/** Reads the chain of the organization's log, or of the person's own. */
export function chainOf(organization_id: string | undefined) {
  return reading(
    organization_id === undefined
      ? (pathTo('/api/users/@me/activity/chain/') as string as Path<`${Log}chain/`>)
      : pathTo('/api/organizations/:organization_id/activity/chain/', { organization_id }),
  );
}

/** The cursor in the address of another page of a list. */
export function cursorOf(link: string): string {
  return new URL(link, document.baseURI).searchParams.get('cursor') ?? '';
}
