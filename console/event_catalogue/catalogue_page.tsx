import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { CatalogueEvent } from '../../server/api/event_catalogue/schema.ts';
import { ways } from '../events/ways.ts';
import { pathOf } from '../http/reading.ts';
import { useCommandLine } from '../page/around/command_line.tsx';
import { Command } from '../page/command.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { Pages } from '../page/tables/pages.tsx';
import { counted } from '../page/text/quantities.ts';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { Bars } from './day_bars.tsx';
import { catalogueEvents, event_orders } from './catalogue.ts';
import type { CatalogueSearch } from './catalogue.ts';
import { narrowedBy } from './narrowed_by.ts';
import { Narrowing } from './narrowing.tsx';
import { Proposed } from './proposed.tsx';
import { CatalogueTabs } from './tabs.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/event_catalogue');

/**
 * Shows the ingested events of a project: their numbers, their times, and links to their
 * properties.
 */
export function CataloguePage() {
  const { project_id } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = catalogueEvents(project_id, search);
  const query = useQuery({ ...list, placeholderData: (before) => before });
  const change = (changes: CatalogueSearch) =>
    void navigate({ search: (before) => narrowedBy(before, changes), replace: true });
  const is_narrowed = search.search !== undefined;
  return (
    <Page title="Event catalogue" request={pathOf(list)}>
      <CatalogueTabs project_id={project_id} />
      <Proposed project_id={project_id} />
      <Shown query={query}>
        {({ count, results, is_counting, other_events, other_values }) =>
          count === 0 && !is_narrowed && search.page === undefined ? (
            <NoEvents project_id={project_id} is_counting={is_counting} />
          ) : (
            <Section title="Events" is_wide>
              <Narrowing search={search} orders={event_orders} change={change} />
              {count === 0 ? (
                <Empty title="No events match">
                  Other events of this project have other names.
                </Empty>
              ) : (
                <Rows rows={results} keyOf={({ event }) => event} columns={columnsOf(project_id)} />
              )}
              <Pages count={count} page={search.page ?? 1} go={(page) => change({ page })} />
              <Beyond other_events={other_events} other_values={other_values} />
              {is_counting && <p className="muted">Sluice is still counting events.</p>}
            </Section>
          )
        }
      </Shown>
    </Page>
  );
}

const columnsOf = (project_id: string): Columns<CatalogueEvent> => ({
  Event: ({ event }) => (
    <Link
      to="/projects/$project_id/event_catalogue/event"
      params={{ project_id }}
      search={{ event }}
    >
      <bdi>{event}</bdi>
    </Link>
  ),
  'By day': ({ by_day }) => <Bars by_day={by_day} />,
  '30 days': { number: ({ events_30_days }) => events_30_days.toLocaleString('en') },
  All: { number: ({ events }) => events.toLocaleString('en') },
  Properties: { number: ({ properties }) => properties.toLocaleString('en') },
  'Last seen': { short: ({ last_seen_at }) => <Instant at={last_seen_at} /> },
});

/** Shows how many events and values have no row because the catalogue is full. */
function Beyond({ other_events, other_values }: { other_events: number; other_values: number }) {
  if (other_events === 0 && other_values === 0) return undefined;
  return (
    <p className="warn">
      The catalogue is full: {counted(other_events, 'event')} of other names and{' '}
      {counted(other_values, 'value')} of other properties have no row. Names that contain ids or
      dates fill it: put these into a property.
    </p>
  );
}

function NoEvents({ project_id, is_counting }: { project_id: string; is_counting: boolean }) {
  const commandLine = useCommandLine();
  if (is_counting)
    return (
      <Empty title="Sluice is counting your events">
        They are listed here in some seconds, with their properties.
      </Empty>
    );
  const way = ways.find(({ title }) => title === 'One event with curl')!;
  return (
    <>
      <Empty
        title="No events yet"
        way={
          <Link to="/projects/$project_id/events" params={{ project_id }} className="act">
            All ways to send events
          </Link>
        }
      >
        The catalogue lists each event that comes in: how often, since when, and the types of its
        properties. It follows the events by some seconds.
      </Empty>
      <Section title="Send one event">
        <p>Replace $KEY with an API key that may send events, and run this in a terminal.</p>
        <Command
          text={way.command({ project_id, key: '$KEY', write_key: '', commandLine })}
          what="One event with curl"
        />
      </Section>
    </>
  );
}
