import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { SecurityRow } from '../../server/api/security/schema.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Page } from '../page/page.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { LimitForm, NetworkForm, SignInForm } from './security_forms.tsx';
import { OutsideMembers } from './outside_members.tsx';
import { securityOf, securityPath } from './security.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/security');

/** The security page of an organization: administrators read it, owners change it. */
export function SecurityPage() {
  const { organization_id } = route.useParams();
  return (
    <Page title="Security" request={securityPath(organization_id)}>
      <OnlyFor organization_id={organization_id} what="can see this">
        <Settings organization_id={organization_id} />
      </OnlyFor>
    </Page>
  );
}

function Settings({ organization_id }: { organization_id: string }) {
  const query = useQuery(securityOf(organization_id));
  return (
    <Shown query={query}>
      {(security) => (
        <OnlyFor organization_id={organization_id} level={15} shows>
          <Sections organization_id={organization_id} security={security} />
        </OnlyFor>
      )}
    </Shown>
  );
}

function Sections(given: { organization_id: string; security: SecurityRow }) {
  return (
    <>
      <Section title="Single sign-on">
        <SignInForm {...given} />
      </Section>
      <Section title="Members outside your providers" is_wide>
        <OutsideMembers {...given} />
      </Section>
      <Section title="Sessions">
        <LimitForm {...given} />
      </Section>
      <Section title="Network">
        <NetworkForm {...given} />
      </Section>
    </>
  );
}
