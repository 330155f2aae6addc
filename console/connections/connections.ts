import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';

/** Returns the path of the connections. */
export function connectionsPath(
  organization_id: string,
  query?: { limit: number; offset?: number },
) {
  return pathTo('/api/organizations/:organization_id/connections/', { organization_id }, query);
}

/** Returns the path of a connection. */
export function connectionPath(organization_id: string, id: string) {
  return pathTo('/api/organizations/:organization_id/connections/:id/', { organization_id, id });
}

/** One page of the connections of an organization. */
export function connections(organization_id: string, page: number) {
  return reading(connectionsPath(organization_id, pageQuery(page)));
}

/** The connections to choose from in a form: the newest thousand. */
export function connectionChoices(organization_id: string) {
  return reading(connectionsPath(organization_id, { limit: 1000 }));
}

/** One connection. */
export function connectionOf(organization_id: string, id: string) {
  return reading(connectionPath(organization_id, id));
}

/** The trust policy for an AWS role. */
export function awsRole(organization_id: string) {
  const path = pathTo('/api/organizations/:organization_id/aws_role/', { organization_id });
  return reading(path, { polls: false });
}
