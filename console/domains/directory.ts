import type { DirectoryRow, TokenRow } from '../../server/api/scim/schema.ts';
import type { Listed } from '../http/list.ts';
import { reading } from '../http/reading.ts';
import { domainPath } from './domains.ts';

/** The directory of the domain in the API. */
export function directoryPath(organization_id: string, domain_id: string): string {
  return `${domainPath(organization_id, domain_id)}scim/`;
}

/** What the directory of the domain is and does. */
export function directoryOf(organization_id: string, domain_id: string) {
  return reading<DirectoryRow>(directoryPath(organization_id, domain_id));
}

/** The tokens of the directory. */
export function tokensOf(organization_id: string, domain_id: string) {
  return reading<Listed<TokenRow>>(`${directoryPath(organization_id, domain_id)}tokens/`);
}
