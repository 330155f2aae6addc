import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** Returns the path of a domain's directory. */
export function directoryPath(organization_id: string, id: string) {
  return pathTo('/api/organizations/:organization_id/domains/:id/scim/', { organization_id, id });
}

/** Reads the state and activity of the domain's directory. */
export function directoryOf(organization_id: string, domain_id: string) {
  return reading(directoryPath(organization_id, domain_id));
}

/** The tokens of the directory. */
export function tokensOf(organization_id: string, domain_id: string) {
  return reading(
    pathTo('/api/organizations/:organization_id/domains/:id/scim/tokens/', {
      organization_id,
      id: domain_id,
    }),
  );
}
