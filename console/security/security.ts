import type { SecurityRow } from '../../server/api/security/schema.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** The security settings of an organization. */
export function securityOf(organization_id: string) {
  return reading(securityPath(organization_id));
}

/** Its place in the API. */
export function securityPath(organization_id: string) {
  return pathTo('/api/organizations/:organization_id/security/', { organization_id });
}

/** A member whom no provider of the organization vouches for. */
export type OutsideMember = SecurityRow['outside_members'][number];
