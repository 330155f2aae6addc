import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { PlannedEventRow } from '../../server/api/planned_events/schema.ts';
import type { ProjectRow } from '../../server/api/projects/schema.ts';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { ChoiceField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { etagOf, pathOf } from '../http/reading.ts';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { counted } from '../page/text/quantities.ts';
import { Rows } from '../page/tables/rows.tsx';
import { Section, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { projectOf } from '../projects/project.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { ImportSection } from './import_section.tsx';
import { PlannedEventForm } from './planned_event_form.tsx';
import { plannedEvents } from './planned_events.ts';

const route = getRouteApi('/signed_in/projects/$project_id/tracking_plan');

/** Shows the events that a project expects, and the treatment of others. */
export function PlanPage() {
  const { project_id } = route.useParams();
  const read = plannedEvents(project_id);
  const plan = useQuery(read);
  const project = useQuery(projectOf(project_id));
  return (
    <Page title="Tracking plan" request={pathOf(read)}>
      <Shown query={project}>
        {(shown) => (
          <>
            <Section title="Events of the plan" is_wide>
              <Shown query={plan}>
                {({ results }) => <PlanList planned={results} project_id={project_id} />}
              </Shown>
            </Section>
            <Section title="New event">
              <OnlyFor organization_id={shown.organization}>
                <NewPlannedEvent project_id={project_id} />
              </OnlyFor>
            </Section>
            <Section title="Import">
              <OnlyFor organization_id={shown.organization}>
                <ImportSection project_id={project_id} />
              </OnlyFor>
            </Section>
            <Section title="Events outside the plan">
              <OnlyFor organization_id={shown.organization} shows>
                <UnplannedForm key={shown.id} project={shown} />
              </OnlyFor>
            </Section>
          </>
        )}
      </Shown>
    </Page>
  );
}

function PlanList({ planned, project_id }: { planned: PlannedEventRow[]; project_id: string }) {
  if (planned.length === 0)
    return (
      <Empty title="No planned events yet">
        Add the events that you expect with their properties. Sluice reports or refuses events that
        differ.
      </Empty>
    );
  return (
    <Rows
      rows={planned}
      keyOf={({ id }) => id}
      columns={{
        Event: ({ id, event, description, managed_by }) => (
          <>
            <ManagedMark by={managed_by} />
            <Link
              to="/projects/$project_id/tracking_plan/$planned_event_id"
              params={{ project_id, planned_event_id: id }}
              title={description}
            >
              {event}
            </Link>
          </>
        ),
        Properties: ({ properties }) =>
          `${counted(properties.length, 'property')}, ${requiredOf(properties)} required`,
        'If an event differs': ({ mode }) =>
          mode === 'warn' ? 'Stored with a warning' : 'Refused',
      }}
    />
  );
}

const requiredOf = (properties: PlannedEventRow['properties']) =>
  properties.filter(({ required }) => required).length;

function NewPlannedEvent({ project_id }: { project_id: string }) {
  const done = useDone();
  return (
    <PlannedEventForm
      project_id={project_id}
      done={() => done('The event was added to the plan.', plannedEvents(project_id))}
    />
  );
}

function UnplannedForm({ project }: { project: ProjectRow }) {
  const done = useDone();
  return (
    <Form
      method="PATCH"
      path={pathTo('/api/projects/:id/', { id: project.id })}
      part="unplanned"
      if_match={etagOf(project)}
      body={({ unplanned_events }) => ({ unplanned_events })}
      done={() => done('It applies to new events.', projectOf(String(project.id)))}
      button="Save"
    >
      <ChoiceField
        name="unplanned_events"
        label="Events outside of the plan"
        hint="Names that start with $ belong to SDKs and are always allowed."
        options={[
          { value: 'allow', label: 'Allow' },
          { value: 'warn', label: 'Store with a warning' },
          { value: 'refuse', label: 'Refuse' },
        ]}
        value={project.unplanned_events}
      />
    </Form>
  );
}
