import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { Page } from '../page/page.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { organizationOf } from './organization.ts';

/** Around the pages of an organization: they are there once it is known. */
export function OrganizationOutlet() {
  const { organization_id } = useParams({ from: '/signed_in/organizations/$organization_id' });
  const organization = useQuery(organizationOf(organization_id));
  const missing = (
    <Page title="Organization">
      <NoSuch noun="organization">
        <Link to="/account">Your organizations</Link>
      </NoSuch>
    </Page>
  );
  return (
    <Shown query={organization} missing={missing}>
      {() => <Outlet />}
    </Shown>
  );
}
