import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** An organization in the API. */
export function organizationPath(id: string) {
  return pathTo('/api/organizations/:id/', { id });
}

/** The organization of the address, with the level of who is signed in. */
export function organizationOf(organization_id: string) {
  return reading(organizationPath(organization_id));
}
