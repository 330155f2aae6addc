import type { SecurityRow } from '../../server/api/security/schema.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** The security settings of an organization. */
export function securityOf(organization_id: string) {
  return reading(securityPath(organization_id));
}

/** Returns the path of the security settings. */
export function securityPath(organization_id: string) {
  return pathTo('/api/organizations/:organization_id/security/', { organization_id });
}

/** A member whose address is in no domain of the organization's providers. */
export type OutsideMember = SecurityRow['outside_members'][number];
