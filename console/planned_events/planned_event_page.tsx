import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { PlannedEventRow } from '../../server/api/planned_events/schema.ts';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { Section, useDone } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { projectOf } from '../projects/project.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { PlannedEventForm } from './planned_event_form.tsx';
import { plannedEvent, plannedEventPath, plannedEvents } from './planned_events.ts';

const route = getRouteApi('/signed_in/projects/$project_id/tracking_plan/$planned_event_id');

/** One event of the tracking plan: its change and its deletion. */
export function PlannedEventPage() {
  const { project_id, planned_event_id } = route.useParams();
  const read = plannedEvent(project_id, planned_event_id);
  const query = useQuery(read);
  const project = useQuery(projectOf(project_id));
  const missing = (
    <NoSuch noun="planned event">
      <Link to="/projects/$project_id/tracking_plan" params={{ project_id }}>
        The tracking plan of this project
      </Link>
    </NoSuch>
  );
  return (
    <Page title={query.data?.event ?? 'Planned event'} request={pathOf(read)}>
      <Shown query={query} missing={missing}>
        {(planned) => (
          <Shown query={project}>
            {({ organization }) => (
              <>
                <ManagedNote by={planned.managed_by} />
                <AsYaml kind="planned_event" id={planned.id} />
                <Section title="Event">
                  <OnlyFor organization_id={organization} shows>
                    <Change planned={planned} project_id={project_id} />
                  </OnlyFor>
                </Section>
                <Section title="Deletion">
                  <OnlyFor organization_id={organization}>
                    <Delete planned={planned} project_id={project_id} />
                  </OnlyFor>
                </Section>
              </>
            )}
          </Shown>
        )}
      </Shown>
    </Page>
  );
}

type Given = { planned: PlannedEventRow; project_id: string };

function Change({ planned, project_id }: Given) {
  const done = useDone();
  return (
    <PlannedEventForm
      project_id={project_id}
      stored={planned}
      done={() =>
        done(
          'The event was saved. The plan applies to new events.',
          plannedEvent(project_id, planned.id),
        )
      }
    />
  );
}

function Delete({ planned, project_id }: Given) {
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  return (
    <TypedForm
      name={planned.event}
      text="The event is then outside the plan. Stored events stay as they are."
      path={plannedEventPath(project_id, planned.id)}
      if_match={etagOf(planned)}
      done={async () => {
        await queries.invalidateQueries({ queryKey: plannedEvents(project_id).queryKey });
        await navigate({ to: '/projects/$project_id/tracking_plan', params: { project_id } });
      }}
      button="Delete event"
    />
  );
}
