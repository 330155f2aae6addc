import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

/** Returns the path of an organization. */
export function organizationPath(id: string) {
  return pathTo('/api/organizations/:id/', { id });
}

/** The organization in the address, with the level of the signed-in person. */
export function organizationOf(organization_id: string) {
  return reading(organizationPath(organization_id));
}
