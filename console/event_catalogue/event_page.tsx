import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { CatalogueEvent } from '../../server/api/event_catalogue/schema.ts';
import { pathOf } from '../http/reading.ts';
import { Empty } from '../page/empty.tsx';
import { Figures } from '../page/figures.tsx';
import { Page } from '../page/page.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { catalogueEvent, catalogueProperties } from './catalogue.ts';
import { Bars } from './day_bars.tsx';
import { narrowedBy } from './narrowed_by.ts';
import { PropertyList } from './property_list.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/event_catalogue/event');

/** Shows one event: its number and times, and its properties with their types. */
export function EventPage() {
  const { project_id } = route.useParams();
  const { event = '', ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const one = catalogueEvent(project_id, event);
  const query = useQuery(one);
  const list = catalogueProperties(project_id, search, event);
  const properties = useQuery({ ...list, placeholderData: (before) => before });
  const back = (
    <Link to="/projects/$project_id/event_catalogue" params={{ project_id }}>
      All events
    </Link>
  );
  return (
    <Page
      title={event === '' ? 'Event' : event}
      part="Event catalogue"
      request={pathOf(list)}
      actions={back}
    >
      <Shown query={query}>
        {({ results: [found] }) =>
          found === undefined ? (
            <Empty title="No event with this name" way={back}>
              It was not ingested, or Sluice has not counted it yet.
            </Empty>
          ) : (
            <>
              <Counts event={found} />
              <PropertyList
                query={properties}
                search={search}
                change={(changes) =>
                  void navigate({
                    search: (before) => narrowedBy(before, changes),
                    replace: true,
                  })
                }
                of="this event"
              />
            </>
          )
        }
      </Shown>
    </Page>
  );
}

function Counts({ event }: { event: CatalogueEvent }) {
  const { events, events_7_days, events_30_days, by_day, first_seen_at, last_seen_at } = event;
  const figures = [
    ['By day', <Bars key="days" by_day={by_day} />],
    ['In 7 days', events_7_days.toLocaleString('en')],
    ['In 30 days', events_30_days.toLocaleString('en')],
    ['In all', events.toLocaleString('en')],
    ['First seen', <Instant key="first" at={first_seen_at} />],
    ['Last seen', <Instant key="last" at={last_seen_at} />],
  ] as const;
  return (
    <Section title="How many" is_wide>
      <Figures figures={figures} />
    </Section>
  );
}
