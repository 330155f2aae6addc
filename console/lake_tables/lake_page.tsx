import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { LakeTable } from '../../server/api/lake_tables/schema.ts';
import { pathOf } from '../http/reading.ts';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Empty } from '../page/empty.tsx';
import { LinkButton } from '../page/link_button.tsx';
import { Page } from '../page/page.tsx';
import { inBytes } from '../page/text/quantities.ts';
import { Instant } from '../time/instant.tsx';
import { lakeTables, nameOf, told } from './lake_tables.ts';

const route = getRouteApi('/signed_in/projects/$project_id/lake');

/** Lists the tables of the Iceberg catalog of a project. */
export function LakePage() {
  const { project_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = lakeTables(project_id, page);
  const query = useQuery(list);
  return (
    <Page title="Lake" request={pathOf(list)}>
      <PagedRows
        query={query}
        page={page}
        go={(to) => void navigate({ search: to === 1 ? {} : { page: to } })}
        keyOf={({ id }) => id}
        columns={columnsOf(project_id)}
        empty={
          <Empty
            title="No tables yet"
            way={
              <LinkButton
                to="/projects/$project_id/exports/new"
                params={{ project_id }}
                search={{ destination: 'Iceberg' }}
                variant="filled"
              >
                Create Iceberg export
              </LinkButton>
            }
          >
            An export to Iceberg creates a table with its first rows. DuckDB, Spark, Trino and
            others read the table from this server.
          </Empty>
        }
      />
    </Page>
  );
}

const columnsOf = (project_id: string): Columns<LakeTable> => ({
  Table: (table) => (
    <Link to="/projects/$project_id/lake/$table_id" params={{ project_id, table_id: table.id }}>
      <bdi>{nameOf(table)}</bdi>
    </Link>
  ),
  Rows: { number: ({ rows }) => told(rows) },
  Files: { number: ({ data_files }) => told(data_files) },
  Size: { number: ({ bytes }) => (bytes === null ? '–' : inBytes(bytes)) },
  'Last commit': ({ committed_at: at }) => (at === null ? 'No rows yet' : <Instant at={at} />),
  'Written by': { long: (table) => <Writer table={table} project_id={project_id} /> },
});

/** Names the export that writes a table, or says that clients do. */
export function Writer({
  table: { batch_export },
  project_id,
}: {
  table: Pick<LakeTable, 'batch_export'>;
  project_id: string;
}) {
  if (batch_export === null) return 'Clients of the catalog';
  return (
    <Link
      to="/projects/$project_id/exports/$export_id"
      params={{ project_id, export_id: batch_export.id }}
    >
      <bdi>{batch_export.name}</bdi>
    </Link>
  );
}
