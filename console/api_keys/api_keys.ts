import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** The person's API keys, newest first. */
export const api_keys = reading(pathTo('/api/personal_api_keys/', {}, { limit: 1000 }));

/** The service keys of an organization, newest first. */
export function serviceKeys(organization_id: string) {
  return reading(
    pathTo(
      '/api/organizations/:organization_id/service_keys/',
      { organization_id },
      { limit: 1000 },
    ),
  );
}

/** One page of the keys with access to an organization, newest first. */
export function organizationKeys(organization_id: string, page: number) {
  return reading(
    pathTo(
      '/api/organizations/:organization_id/personal_api_keys/',
      { organization_id },
      pageQuery(page),
    ),
  );
}
