import type { SecurityRow } from '../../server/api/security/schema.ts';
import { reading } from '../http/reading.ts';
import { organizationPath } from '../signed_in/organization.ts';

/** The security settings of an organization. */
export function securityOf(organization_id: string) {
  return reading<SecurityRow>(securityPath(organization_id));
}

/** Its place in the API. */
export function securityPath(organization_id: string): string {
  return `${organizationPath(organization_id)}security/`;
}

/** A member whom no provider of the organization vouches for. */
export type OutsideMember = SecurityRow['outside_members'][number];
