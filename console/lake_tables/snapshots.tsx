import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { LakeSnapshot, LakeTableDetails } from '../../server/api/lake_tables/schema.ts';
import { PagedRows } from '../page/tables/paged_rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Empty } from '../page/empty.tsx';
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
      keyOf={({ id }) => id}
      columns={columnsOf(table, project_id)}
      empty={<Empty title="No snapshots yet">The first run with rows creates the first one.</Empty>}
    />
  );
}

function byWhom({ maintenance }: LakeSnapshot): string {
  if (maintenance === null) return 'Another writer';
  return maintenance === 'erasure' ? 'Erasure' : 'Maintenance';
}

const columnsOf = ({ refs }: LakeTableDetails, project_id: string): Columns<LakeSnapshot> => ({
  Committed: ({ committed_at }) => <Instant at={committed_at} is_exact />,
  Operation: ({ operation }) => operation,
  'Rows added': { number: ({ added_rows, deleted_rows }) => change(added_rows, deleted_rows) },
  'Files added': { number: ({ added_files, deleted_files }) => change(added_files, deleted_files) },
  Rows: { number: ({ total_rows }) => told(total_rows) },
  By: (snapshot) =>
    snapshot.run === null ? (
      byWhom(snapshot)
    ) : (
      <Link
        to="/projects/$project_id/exports/$export_id/runs/$run_id"
        params={{ project_id, export_id: snapshot.run.batch_export, run_id: snapshot.run.id }}
      >
        Run
      </Link>
    ),
  Id: ({ id }) => {
    const names = refs.filter((ref) => ref.snapshot === id).map(({ name }) => name);
    return (
      <>
        <code>{id}</code>
        {names.length > 0 && <span className="muted"> {names.join(', ')}</span>}
      </>
    );
  },
});

/** Returns the number added, and the number deleted, if any. */
function change(added: number | null, deleted: number | null): string {
  const left = deleted === null || deleted === 0 ? '' : ` (−${told(deleted)})`;
  return `${told(added)}${left}`;
}
