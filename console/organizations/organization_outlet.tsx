import { useQuery } from '@tanstack/react-query';
import { Outlet, useParams } from '@tanstack/react-router';
import { Shown } from '../page/shown.tsx';
import { organizationOf } from './organization.ts';

/** Around the pages of an organization: they are there once it is known. */
export function OrganizationOutlet() {
  const { organization_id } = useParams({ from: '/signed_in/organizations/$organization_id' });
  const organization = useQuery(organizationOf(organization_id));
  return <Shown query={organization}>{() => <Outlet />}</Shown>;
}
