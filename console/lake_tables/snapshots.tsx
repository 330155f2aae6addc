import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { LakeSnapshot, LakeTableDetails } from '../../server/api/lake_tables/schema.ts';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import { Empty } from '../page/empty.tsx';
import { Table } from '../page/tables/table.tsx';
import { Instant } from '../time/instant.tsx';
import { snapshotsOf, told } from './lake_tables.ts';

/** Lists the snapshots of a table, newest first, each with the run that delivered it. */
export function Snapshots({
  table,
  project_id,
  page,
  go,
}: {
  table: LakeTableDetails;
  project_id: string;
  page: number;
  go: (page: number) => void;
}) {
  const query = useQuery(snapshotsOf(project_id, table.id, page));
  return (
    <PagedRows
      query={query}
      page={page}
      go={go}
      columns={['Committed', 'Operation', 'Rows added', 'Files added', 'Rows', 'By', 'Id']}
      numbers={['Rows added', 'Files added', 'Rows']}
      empty={<Empty title="No snapshots yet">The first run with rows creates the first one.</Empty>}
    >
      {(one) => <Row key={one.id} snapshot={one} table={table} project_id={project_id} />}
    </PagedRows>
  );
}

function byWhom({ maintenance }: LakeSnapshot): string {
  if (maintenance === null) return 'Another writer';
  return maintenance === 'erasure' ? 'Erasure' : 'Maintenance';
}

function Row({
  snapshot,
  table,
  project_id,
}: {
  snapshot: LakeSnapshot;
  table: LakeTableDetails;
  project_id: string;
}) {
  const { id, committed_at, operation, run } = snapshot;
  const names = table.refs.filter((ref) => ref.snapshot === id).map(({ name }) => name);
  return (
    <Table.Tr>
      <Table.Th scope="row">
        <Instant at={committed_at} is_exact />
      </Table.Th>
      <Table.Td data-label="Operation">{operation}</Table.Td>
      <Table.Td data-label="Rows added" className="number">
        {change(snapshot.added_rows, snapshot.deleted_rows)}
      </Table.Td>
      <Table.Td data-label="Files added" className="number">
        {change(snapshot.added_files, snapshot.deleted_files)}
      </Table.Td>
      <Table.Td data-label="Rows" className="number">
        {told(snapshot.total_rows)}
      </Table.Td>
      <Table.Td data-label="By">
        {run === null ? (
          byWhom(snapshot)
        ) : (
          <Link
            to="/projects/$project_id/exports/$export_id/runs/$run_id"
            params={{ project_id, export_id: run.batch_export, run_id: run.id }}
          >
            Run
          </Link>
        )}
      </Table.Td>
      <Table.Td data-label="Id">
        <code>{id}</code>
        {names.length > 0 && <span className="muted"> {names.join(', ')}</span>}
      </Table.Td>
    </Table.Tr>
  );
}

/** Returns the number added, and the number deleted, if any. */
function change(added: number | null, deleted: number | null): string {
  const left = deleted === null || deleted === 0 ? '' : ` (−${told(deleted)})`;
  return `${told(added)}${left}`;
}
