import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import type { OrganizationRow } from '../../server/api/organizations/schema.ts';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Page } from '../page/page.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { ZoneField } from '../projects/zone_field.tsx';
import { account } from '../signed_in/account.ts';
import { forgetMemberships } from '../signed_in/member_of.ts';
import { organizationOf, organizationPath } from '../signed_in/organization.ts';
import { organizations } from '../signed_in/organizations.ts';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/signed_in/organizations/$organization_id/settings');

/** Shows the name and rules of an organization, its projects, and its deletion. */
export function SettingsPage() {
  const { organization_id } = route.useParams();
  const read = organizationOf(organization_id);
  const query = useQuery(read);
  return (
    <Page title="Organization settings" request={pathOf(read)}>
      <Shown query={query}>
        {(organization) => (
          <>
            <ManagedNote by={organization.managed_by} />
            <AsYaml kind="organization" id={organization.id} />
            <Section title="Name and rules">
              <OnlyFor organization_id={organization.id} shows>
                <ChangeOrganization key={organization.id} organization={organization} />
              </OnlyFor>
            </Section>
            <Section title="Projects">
              <Projects organization={organization} />
            </Section>
            <Section title="Deletion">
              <OnlyFor organization_id={organization.id} level={15}>
                <DeleteOrganization organization={organization} />
              </OnlyFor>
            </Section>
          </>
        )}
      </Shown>
    </Page>
  );
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function ChangeOrganization({ organization }: { organization: OrganizationRow }) {
  const { id, name, enforce_2fa, is_member_join_email_enabled, forbids_agent_writes } =
    organization;
  const done = useDone();
  const { data: own } = useQuery(account);
  return (
    <Form
      method="PATCH"
      path={organizationPath(id)}
      if_match={etagOf(organization)}
      body={(values) => ({
        name: values['name'],
        // Unset counts as off, and saving must not set it.
        ...(isTicked(values, 'enforce_2fa') === (enforce_2fa === true)
          ? {}
          : { enforce_2fa: isTicked(values, 'enforce_2fa') }),
        is_member_join_email_enabled: isTicked(values, 'is_member_join_email_enabled'),
        forbids_agent_writes: isTicked(values, 'forbids_agent_writes'),
      })}
      asks={(values) =>
        !isTicked(values, 'enforce_2fa') || enforce_2fa === true || own?.is_2fa_enabled === true
          ? undefined
          : {
              title: 'You have no second factor yet',
              text: 'The organization is closed to you until you set one up.',
              button: 'Require it anyway',
              keep: 'Back to the form',
            }
      }
      done={() => done('The organization was saved.', organizationOf(id), organizations, account)}
      button="Save the organization"
    >
      <TextField name="name" label="Name" value={name} />
      <BoxField
        name="enforce_2fa"
        label="Members must use a second factor"
        hint="It applies at once. Members without one are locked out until they set one up."
        is_on={enforce_2fa === true}
      />
      <BoxField
        name="is_member_join_email_enabled"
        label="Send members a mail when somebody joins"
        is_on={is_member_join_email_enabled}
      />
      <BoxField
        name="forbids_agent_writes"
        label="Agents may change nothing"
        hint={
          'Coding assistants may read and plan, whatever their keys allow. ' +
          'A person applies their plans.'
        }
        is_on={forbids_agent_writes}
      />
    </Form>
  );
}

function Projects({ organization }: { organization: OrganizationRow }) {
  const done = useDone();
  return (
    <>
      <ul className="records">
        {organization.teams.map(({ id, name, timezone }) => (
          <li key={id}>
            <div>
              <p>
                <Link to="/projects/$project_id/settings" params={{ project_id: String(id) }}>
                  <bdi>{name}</bdi>
                </Link>
              </p>
              <p className="muted">
                Number {id}, {timezone}
              </p>
            </div>
          </li>
        ))}
      </ul>
      <OnlyFor organization_id={organization.id} what="can create projects">
        <Seldom summary="New project">
          <Form
            path={pathTo('/api/projects/')}
            body={(values) => ({ ...values, organization: organization.id })}
            done={({ name }) =>
              done(
                `The project “${name}” was created.`,
                organizationOf(organization.id),
                organizations,
              )
            }
            button="Create the project"
            clears
          >
            <TextField name="name" label="Name" />
            <ZoneField value="UTC" />
          </Form>
        </Seldom>
      </OnlyFor>
    </>
  );
}

function DeleteOrganization({ organization }: { organization: OrganizationRow }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const members = Number(organization.member_count);
  return (
    <TypedForm
      name={organization.name}
      text={
        `Sluice deletes its ${countOf(organization.teams.length, 'project')} with everything ` +
        `in them. ${countOf(members, 'member')} ${members === 1 ? 'loses' : 'lose'} access. ` +
        'Delivered rows stay at their destinations.'
      }
      path={organizationPath(organization.id)}
      if_match={etagOf(organization)}
      done={async () => {
        const own = queries.getQueryData(account.queryKey);
        if (own !== undefined) forgetMemberships(own.uuid, [organization.id]);
        await navigate({ to: '/account' });
        await queries.invalidateQueries();
      }}
      button="Delete the organization"
    />
  );
}
