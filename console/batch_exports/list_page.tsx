import { Pagination, Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import { pathOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { batchExports, page_size } from './batch_exports.ts';
import { run_states, stateOf } from './state.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports');

/** The batch exports of a project, with how each stands. */
export function ListPage() {
  const { project_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = batchExports(project_id, page);
  const query = useQuery(list);
  return (
    <Page title="Exports" request={pathOf(list)}>
      <Shown query={query}>
        {({ count, results }) => (
          <>
            {count === 0 ? <NoExports /> : <Exports rows={results} />}
            {count > page_size && (
              <Pagination
                mt="md"
                size="sm"
                total={Math.ceil(count / page_size)}
                value={page}
                onChange={(wanted) => void navigate({ search: { page: wanted } })}
                getControlProps={(control) => ({ 'aria-label': `${control} page` })}
              />
            )}
          </>
        )}
      </Shown>
    </Page>
  );
}

function NoExports() {
  return (
    <div className="empty">
      <p>No exports yet.</p>
      <p>An export delivers events or persons to a destination, on a schedule.</p>
    </div>
  );
}

function Exports({ rows }: { rows: BatchExport[] }) {
  return (
    <Table.ScrollContainer minWidth={0} type="native">
      <Table highlightOnHover className="cards">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Latest run</Table.Th>
            <Table.Th>Next run</Table.Th>
            <Table.Th>Model</Table.Th>
            <Table.Th>Destination</Table.Th>
            <Table.Th>Interval</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Row key={row.id} row={row} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Row({ row }: { row: BatchExport }) {
  const { name, model, interval, destination, custom_query, next_run } = row;
  const { word, tone } = stateOf(row);
  return (
    <Table.Tr>
      <Table.Th scope="row">
        <Link
          to="/projects/$project_id/exports/$export_id"
          params={{ project_id: String(row.team_id), export_id: row.id }}
        >
          <bdi>{name}</bdi>
        </Link>
      </Table.Th>
      <Table.Td data-label="State" className={tone}>
        {word}
      </Table.Td>
      <Table.Td data-label="Latest run">
        <LatestRun run={row.latest_runs[0]} />
      </Table.Td>
      <Table.Td data-label="Next run">
        {next_run === null ? (
          <span className="muted">none</span>
        ) : (
          <Instant at={next_run.data_interval_end} />
        )}
      </Table.Td>
      <Table.Td data-label="Model">{custom_query === null ? model : 'a query'}</Table.Td>
      <Table.Td data-label="Destination">{destination.type}</Table.Td>
      <Table.Td data-label="Interval">{interval}</Table.Td>
    </Table.Tr>
  );
}

function LatestRun({ run }: { run: BatchExport['latest_runs'][number] | undefined }) {
  if (run === undefined) return <span className="muted">none yet</span>;
  const { word, tone } = run_states[run.status];
  const rows = run.records_completed;
  return (
    <>
      <span className={tone}>{word}</span> <Instant at={run.finished_at ?? run.created_at} />
      {rows !== null && (
        <span className="muted">
          , {rows.toLocaleString('en')} {rows === 1 ? 'row' : 'rows'}
        </span>
      )}
    </>
  );
}
