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
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Table } from '../page/tables/table.tsx';
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
                <Rows
                  columns={['Event', 'By day', '30 days', 'All', 'Properties', 'Last seen']}
                  numbers={['30 days', 'All', 'Properties']}
                >
                  {results.map((one) => (
                    <EventRow key={one.event} project_id={project_id} event={one} />
                  ))}
                </Rows>
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

function EventRow({ project_id, event: one }: { project_id: string; event: CatalogueEvent }) {
  const { event, events, events_30_days, by_day, properties, last_seen_at } = one;
  return (
    <Table.Tr>
      <Table.Th scope="row">
        <Link
          to="/projects/$project_id/event_catalogue/event"
          params={{ project_id }}
          search={{ event }}
        >
          <bdi>{event}</bdi>
        </Link>
      </Table.Th>
      <Table.Td data-label="By day">
        <Bars by_day={by_day} />
      </Table.Td>
      <Table.Td data-label="30 days" className="number">
        {events_30_days.toLocaleString('en')}
      </Table.Td>
      <Table.Td data-label="All" className="number">
        {events.toLocaleString('en')}
      </Table.Td>
      <Table.Td data-label="Properties" className="number">
        {properties.toLocaleString('en')}
      </Table.Td>
      <Table.Td data-label="Last seen" className="short">
        <Instant at={last_seen_at} />
      </Table.Td>
    </Table.Tr>
  );
}

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
