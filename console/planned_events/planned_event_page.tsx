import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { RecordPage } from '../ingestion_rules/record_page.tsx';
import { PlannedEventForm } from './planned_event_form.tsx';
import { plannedEvent, plannedEventPath, plannedEvents } from './planned_events.ts';

const route = getRouteApi('/signed_in/projects/$project_id/tracking_plan/$planned_event_id');
const list = '/projects/$project_id/tracking_plan';

/** One event of the tracking plan. */
export function PlannedEventPage() {
  const { project_id, planned_event_id } = route.useParams();
  const navigate = route.useNavigate();
  return (
    <RecordPage
      project_id={project_id}
      path={plannedEventPath(project_id, planned_event_id)}
      query={useQuery(plannedEvent(project_id, planned_event_id))}
      kind="planned_event"
      noun="planned event"
      heading="Event"
      nameOf={({ event }) => event}
      list={plannedEvents(project_id)}
      link={
        <Link to={list} params={{ project_id }}>
          The tracking plan of this project
        </Link>
      }
      saved="The event was saved. The plan applies to new events."
      loss="The event is then outside the plan. Stored events stay unchanged."
      button="Delete event"
      leave={() => navigate({ to: list, params: { project_id } })}
    >
      {(planned, done) => <PlannedEventForm project_id={project_id} stored={planned} done={done} />}
    </RecordPage>
  );
}
