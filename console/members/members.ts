import type { MemberRow } from '../../server/api/members/schema.ts';
import type { Listed } from '../http/list.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { organizationPath } from '../signed_in/organization.ts';

/** One page of the active members, newest first. */
export function members(organization_id: string, page: number) {
  return reading<Listed<MemberRow>>(`${memberPath(organization_id)}${pageQuery(page)}`);
}

/** The members in the API, or with a uuid one of them. */
export function memberPath(organization_id: string, uuid?: string): string {
  const path = `${organizationPath(organization_id)}members/`;
  return uuid === undefined ? path : `${path}${uuid}/`;
}
