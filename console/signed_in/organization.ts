import type { OrganizationRow } from '../../server/api/organizations/schema.ts';
import { reading } from '../http/reading.ts';

/** An organization's place in the API, with a slash at its end. */
export function organizationPath(organization_id: string): string {
  return `/api/organizations/${encodeURIComponent(organization_id)}/`;
}

/** The organization of the address, with the level of who is signed in. */
export function organizationOf(organization_id: string) {
  return reading<OrganizationRow>(organizationPath(organization_id));
}
