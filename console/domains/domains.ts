import type { DomainRow } from '../../server/api/domains/schema.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** One page of the domains of an organization, by name. */
export function domains(organization_id: string, page: number) {
  return reading(
    pathTo('/api/organizations/:organization_id/domains/', { organization_id }, pageQuery(page)),
  );
}

/** One domain. */
export function domainOf(organization_id: string, id: string) {
  return reading(domainPath(organization_id, id));
}

/** Returns the path of a domain. */
export function domainPath(organization_id: string, id: string) {
  return pathTo('/api/organizations/:organization_id/domains/:id/', { organization_id, id });
}

/** States of a domain's proof, in words. */
export const proof_states = {
  pending: { word: 'Not proved yet', tone: 'warn' },
  verified: { word: 'Verified', tone: 'good' },
  failed: { word: 'Not proved in 30 days', tone: 'bad' },
  lapsed: { word: 'The record is missing', tone: 'bad' },
} as const satisfies Record<DomainRow['verification']['state'], { word: string; tone: string }>;
