import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { Around } from '../page/around_pages.tsx';
import { NoSuch } from '../page/shown.tsx';
import { organizationOf } from '../signed_in/organization.ts';

/** The frame of an organization's pages, rendered after it was read. */
export function OrganizationOutlet() {
  const { organization_id } = useParams({ from: '/signed_in/organizations/$organization_id' });
  const organization = useQuery(organizationOf(organization_id));
  const missing = (
    <NoSuch noun="organization">
      <Link to="/account">Your organizations</Link>
    </NoSuch>
  );
  return (
    <Around title="Organization" query={organization} missing={missing}>
      {() => <Outlet />}
    </Around>
  );
}
