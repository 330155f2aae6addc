import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { LakeTable } from '../../server/api/lake_tables/schema.ts';
import { pathOf } from '../http/reading.ts';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import { Empty } from '../page/empty.tsx';
import { LinkButton } from '../page/link_button.tsx';
import { Page } from '../page/page.tsx';
import { inBytes } from '../page/text/quantities.ts';
import { Table } from '../page/tables/table.tsx';
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
        columns={['Table', 'Rows', 'Files', 'Size', 'Last commit', 'Written by']}
        numbers={['Rows', 'Files', 'Size']}
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
      >
        {(table) => <Row key={table.id} table={table} project_id={project_id} />}
      </PagedRows>
    </Page>
  );
}

function Row({ table, project_id }: { table: LakeTable; project_id: string }) {
  const { id, rows, data_files, bytes, committed_at } = table;
  return (
    <Table.Tr>
      <Table.Th scope="row">
        <Link to="/projects/$project_id/lake/$table_id" params={{ project_id, table_id: id }}>
          <bdi>{nameOf(table)}</bdi>
        </Link>
      </Table.Th>
      <Table.Td data-label="Rows" className="number">
        {told(rows)}
      </Table.Td>
      <Table.Td data-label="Files" className="number">
        {told(data_files)}
      </Table.Td>
      <Table.Td data-label="Size" className="number">
        {bytes === null ? '–' : inBytes(bytes)}
      </Table.Td>
      <Table.Td data-label="Last commit">
        {committed_at === null ? 'No rows yet' : <Instant at={committed_at} />}
      </Table.Td>
      <Table.Td data-label="Written by" className="long">
        <Writer table={table} project_id={project_id} />
      </Table.Td>
    </Table.Tr>
  );
}

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
