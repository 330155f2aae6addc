import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, getRouteApi } from '@tanstack/react-router';
import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import { Page } from '../page/page.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { ExportContext } from './export_context.ts';
import { oneExport } from './one_export.ts';
import { stateOf } from './state.ts';
import './one_export.css';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id');

const base = '/projects/$project_id/exports/$export_id';
const tabs = [
  { label: 'Map', to: base, is_exact: true },
  { label: 'Runs', to: `${base}/runs`, is_exact: false },
] as const;

/** Around the pages of an export: its name, how it stands, and the ways to its pages. */
export function ExportFrame() {
  const { project_id, export_id } = route.useParams();
  const query = useQuery(oneExport(project_id, export_id));
  return (
    <Shown query={query}>
      {(row) => (
        <ExportContext value={row}>
          <Page title={row.name}>
            <Standing row={row} />
            <nav aria-label="Export" className="tabs">
              {tabs.map(({ label, to, is_exact }) => (
                <Link
                  key={to}
                  to={to}
                  params={{ project_id, export_id }}
                  activeOptions={{ exact: is_exact, includeSearch: false }}
                >
                  {label}
                </Link>
              ))}
            </nav>
            <Outlet />
          </Page>
        </ExportContext>
      )}
    </Shown>
  );
}

/** How the export stands, in a line. */
function Standing({ row }: { row: BatchExport }) {
  const { word, tone } = stateOf(row);
  const { model, custom_query, destination, interval, next_run, pause_reason } = row;
  return (
    <p className="standing">
      <span className={tone}>{word}</span>
      <span className="muted">
        {custom_query === null ? model : 'a query'} to {destination.type}, {interval}
      </span>
      {next_run !== null && (
        <span className="muted">
          next run <Instant at={next_run.data_interval_end} />
        </span>
      )}
      {pause_reason !== null && <span>{pause_reason.detail}</span>}
    </p>
  );
}
