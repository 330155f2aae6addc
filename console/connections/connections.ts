import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** The connections in the API. */
export function connectionsPath(
  organization_id: string,
  query?: { limit: number; offset?: number },
) {
  return pathTo('/api/organizations/:organization_id/connections/', { organization_id }, query);
}

/** One of them. */
export function connectionPath(organization_id: string, id: string) {
  return pathTo('/api/organizations/:organization_id/connections/:id/', { organization_id, id });
}

/** One page of the connections of an organization. */
export function connections(organization_id: string, page: number) {
  return reading(connectionsPath(organization_id, pageQuery(page)));
}

/** The connections that a form lets choose from: the newest thousand. */
export function connectionChoices(organization_id: string) {
  return reading(connectionsPath(organization_id, { limit: 1000 }));
}

/** One connection. */
export function connectionOf(organization_id: string, id: string) {
  return reading(connectionPath(organization_id, id));
}

/** The trust policy that an AWS role needs. */
export function awsRole(organization_id: string) {
  const path = pathTo('/api/organizations/:organization_id/aws_role/', { organization_id });
  return reading(path, { polls: false });
}
