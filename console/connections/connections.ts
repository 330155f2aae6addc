import type { AwsRole } from '../../server/api/batch_exports/aws_role/schema.ts';
import type { Connection } from '../../server/api/batch_exports/connections/schema.ts';
import type { Listed } from '../http/list.ts';
import { pageQuery } from '../http/page_number.ts';
import { reading } from '../http/reading.ts';

const base = (organization_id: string) =>
  `/api/organizations/${encodeURIComponent(organization_id)}/`;

/** The connections in the API, or with an id one of them. */
export function connectionPath(organization_id: string, id?: string): string {
  const path = `${base(organization_id)}connections/`;
  return id === undefined ? path : `${path}${encodeURIComponent(id)}/`;
}

/** One page of the connections of an organization. */
export function connections(organization_id: string, page: number) {
  return reading<Listed<Connection>>(`${connectionPath(organization_id)}${pageQuery(page)}`);
}

/** The connections that a form lets choose from: the newest thousand. */
export function connectionChoices(organization_id: string) {
  return reading<Listed<Connection>>(`${connectionPath(organization_id)}?limit=1000`);
}

/** One connection. */
export function connectionOf(organization_id: string, id: string) {
  return reading<Connection>(connectionPath(organization_id, id));
}

/** The trust policy that an AWS role needs. */
export function awsRole(organization_id: string) {
  return reading<AwsRole>(`${base(organization_id)}aws_role/`, { polls: false });
}
