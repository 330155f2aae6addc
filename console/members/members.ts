import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** One page of the active members, newest first. */
export function members(organization_id: string, page: number) {
  return reading(
    pathTo('/api/organizations/:organization_id/members/', { organization_id }, pageQuery(page)),
  );
}

/** Returns the path of a member. */
export function memberPath(organization_id: string, user__uuid: string) {
  return pathTo('/api/organizations/:organization_id/members/:user__uuid/', {
    organization_id,
    user__uuid,
  });
}
