import type { DomainRow } from '../../server/api/domains/schema.ts';
import type { Listed } from '../http/list.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { organizationPath } from '../signed_in/organization.ts';

/** One page of the domains of an organization, by name. */
export function domains(organization_id: string, page: number) {
  return reading<Listed<DomainRow>>(`${domainPath(organization_id)}${pageQuery(page)}`);
}

/** One domain. */
export function domainOf(organization_id: string, id: string) {
  return reading<DomainRow>(domainPath(organization_id, id));
}

/** The domains in the API, or with an id one of them. */
export function domainPath(organization_id: string, id?: string): string {
  const path = `${organizationPath(organization_id)}domains/`;
  return id === undefined ? path : `${path}${encodeURIComponent(id)}/`;
}

/** The changes of a domain that wait for an owner, in the API. */
export function pendingPath(organization_id: string, id: string): string {
  return `${domainPath(organization_id, id)}pending_changes/`;
}

/** Where the proof of a domain stands, in words. */
export const proof_states = {
  pending: { word: 'Not proved yet', tone: 'warn' },
  verified: { word: 'Verified', tone: 'good' },
  failed: { word: 'Not proved in 30 days', tone: 'bad' },
  lapsed: { word: 'The record is missing', tone: 'bad' },
} as const satisfies Record<DomainRow['verification']['state'], { word: string; tone: string }>;
