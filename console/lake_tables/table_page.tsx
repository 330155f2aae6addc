import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { LakeTableDetails } from '../../server/api/lake_tables/schema.ts';
import { pathOf } from '../http/reading.ts';
import { CopyButton } from '../page/copy_button.tsx';
import { Figures } from '../page/figures.tsx';
import { Page } from '../page/page.tsx';
import { inBytes } from '../page/text/quantities.ts';
import { Section } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { Writer } from './lake_page.tsx';
import { filesOf, lakeTable, nameOf, told } from './lake_tables.ts';
import { Maintenance } from './maintenance.tsx';
import { Properties, Schema } from './schema.tsx';
import { Snapshots } from './snapshots.tsx';
import { Ways } from './ways.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/lake/$table_id');

/** Shows a table of the lake: its content, how to read it, and its history. */
export function TablePage() {
  const { project_id, table_id } = route.useParams();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const read = lakeTable(project_id, table_id);
  const query = useQuery(read);
  const back = (
    <Link to="/projects/$project_id/lake" params={{ project_id }}>
      All tables
    </Link>
  );
  return (
    <Page
      title={query.data === undefined ? 'Table' : nameOf(query.data)}
      part="Lake"
      request={pathOf(read)}
      actions={back}
    >
      <Shown query={query} missing={<NoSuch noun="table">{back}</NoSuch>}>
        {(table) => (
          <>
            <Now table={table} project_id={project_id} />
            <Section title="Read it" is_wide>
              <Ways table={table} project_id={project_id} />
            </Section>
            <Section title="Snapshots" is_wide>
              <Snapshots
                table={table}
                project_id={project_id}
                page={page}
                go={(to) => void navigate({ search: to === 1 ? {} : { page: to } })}
              />
            </Section>
            {table.maintenance !== null && (
              <Section title="Maintenance" is_wide>
                <Maintenance maintenance={table.maintenance} />
              </Section>
            )}
            <Section title="Schema" is_wide>
              <Schema table={table} />
            </Section>
            <Section title="Properties" is_wide>
              <Properties table={table} />
            </Section>
          </>
        )}
      </Shown>
    </Page>
  );
}

function Now({ table, project_id }: { table: LakeTableDetails; project_id: string }) {
  const { id, rows, data_files, delete_files, bytes, committed_at, snapshots } = table;
  const files = useQuery(filesOf(project_id, id)).data;
  const sizes = (size: number | null | undefined) =>
    typeof size === 'number' ? inBytes(size) : '–';
  return (
    <Section title="Now" is_wide>
      <Figures
        figures={[
          ['Rows', told(rows)],
          ['Data files', told(data_files)],
          ...(delete_files === null || delete_files === 0
            ? []
            : [['Delete files', told(delete_files)] as [string, ReactNode]]),
          ['Size', sizes(bytes)],
          ['Smallest file', sizes(files?.smallest_bytes)],
          ['Median file', sizes(files?.median_bytes)],
          ['Largest file', sizes(files?.largest_bytes)],
          ['Snapshots', told(snapshots)],
          ['Last commit', committed_at === null ? '–' : <Instant key="at" at={committed_at} />],
        ]}
      />
      {typeof files?.fault === 'string' && <p className="muted">{files.fault}</p>}
      <dl className="differences">
        <div>
          <dt>Written by</dt>
          <dd>
            <Writer table={table} project_id={project_id} />
            {table.batch_export !== null && table.takes_commits && ', and clients of the catalog'}
          </dd>
        </div>
        <div>
          <dt>Location</dt>
          <dd>
            <code>{table.location}</code>
          </dd>
        </div>
        <div>
          <dt>Metadata file</dt>
          <dd>
            <code>{table.metadata_location}</code>{' '}
            <CopyButton text={table.metadata_location} what="the metadata file" />
          </dd>
        </div>
      </dl>
    </Section>
  );
}
