import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { ProjectRow } from '../../server/api/projects/schema.ts';
import { ChoiceField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { organizationOf } from '../signed_in/organization.ts';
import { organizations } from '../signed_in/organizations.ts';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { Page } from '../page/page.tsx';
import { Section, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { WriteKeySection } from '../write_keys/key_section.tsx';
import { projectOf } from './project.ts';
import { ChangeRetention } from './retention.tsx';
import { ZoneField } from './zone_field.tsx';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/signed_in/projects/$project_id/settings');

/** Shows the name of a project, its time zone, and its deletion. */
export function SettingsPage() {
  const { project_id } = route.useParams();
  const read = projectOf(project_id);
  const query = useQuery(read);
  return (
    <Page title="Project settings" request={pathOf(read)}>
      <Shown query={query}>
        {(project) => (
          <>
            <ManagedNote by={project.managed_by} />
            <AsYaml kind="project" id={project.id} />
            <Section title="Name and time zone">
              <OnlyFor organization_id={project.organization} shows>
                <ChangeProject key={project.id} project={project} />
              </OnlyFor>
            </Section>
            <WriteKeySection project={project} />
            <Section title="Robots and your own people">
              <OnlyFor organization_id={project.organization} shows>
                <ChangeTraffic key={project.id} project={project} />
              </OnlyFor>
            </Section>
            <Section title="Retention">
              <OnlyFor organization_id={project.organization} shows>
                <ChangeRetention key={project.id} project={project} />
              </OnlyFor>
            </Section>
            <Section title="Deletion">
              <OnlyFor organization_id={project.organization}>
                <DeleteProject project={project} />
              </OnlyFor>
            </Section>
          </>
        )}
      </Shown>
    </Page>
  );
}

function ChangeProject({ project }: { project: ProjectRow }) {
  const done = useDone();
  return (
    <Form
      method="PATCH"
      path={pathTo('/api/projects/:id/', { id: project.id })}
      if_match={etagOf(project)}
      body={({ name, timezone }) => ({ name, timezone })}
      done={() =>
        done(
          'The project was saved.',
          projectOf(String(project.id)),
          organizationOf(project.organization),
          organizations,
        )
      }
      button="Save the project"
    >
      <TextField name="name" label="Name" value={project.name} />
      <ZoneField value={project.timezone} />
    </Form>
  );
}

const fates = [
  { value: 'keep', label: 'Keep' },
  { value: 'mark', label: 'Mark' },
  { value: 'drop', label: 'Drop' },
];

function ChangeTraffic({ project }: { project: ProjectRow }) {
  const done = useDone();
  return (
    <Form
      method="PATCH"
      path={pathTo('/api/projects/:id/', { id: project.id })}
      part="traffic"
      if_match={etagOf(project)}
      body={({ robot_events, internal_events, internal_addresses }) => ({
        robot_events,
        internal_events,
        internal_addresses: String(internal_addresses ?? '')
          .split(/[\s,]+/)
          .filter((address) => address !== ''),
      })}
      done={() => done('It applies to new events.', projectOf(String(project.id)))}
      button="Save"
    >
      <p>
        Choose what happens to events from known robots and from your own addresses. Marked events
        get the property $is_robot or $is_internal. The page “Events” counts the dropped ones.
      </p>
      <ChoiceField
        name="robot_events"
        label="Events of robots"
        options={fates}
        value={project.robot_events}
      />
      <ChoiceField
        name="internal_events"
        label="Events from internal addresses"
        options={fates}
        value={project.internal_events}
      />
      <TextField
        name="internal_addresses"
        label="Internal addresses"
        hint="Addresses and networks, such as 203.0.113.0/24, separated by spaces."
        value={project.internal_addresses.join(' ')}
        is_optional
      />
    </Form>
  );
}

function DeleteProject({ project }: { project: ProjectRow }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <TypedForm
      name={project.name}
      text="Its exports stop and are deleted. Delivered rows stay at their destinations."
      path={pathTo('/api/projects/:id/', { id: project.id })}
      if_match={etagOf(project)}
      done={async () => {
        await queries.invalidateQueries({ queryKey: organizations.queryKey });
        await navigate({
          to: '/organizations/$organization_id/settings',
          params: { organization_id: project.organization },
        });
      }}
      button="Delete the project"
    />
  );
}
