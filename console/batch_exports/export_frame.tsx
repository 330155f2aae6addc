import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, getRouteApi, useLocation, useNavigate } from '@tanstack/react-router';
import { useContext, useEffect, useRef } from 'react';
import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import { useActions } from '../page/actions.ts';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { useDestinationLabel } from '../destinations/destinations.ts';
import { AroundContext } from '../page/around/around.ts';
import { nameOf, tablesOfExport } from '../lake_tables/lake_tables.ts';
import { Page } from '../page/page.tsx';
import { Shown } from '../page/shown.tsx';
import { by_dates } from './backfills/by_dates.ts';
import { EarlierDeliveries } from './backfills/earlier_deliveries.tsx';
import { WaitingSchema } from './head/waiting_schema.tsx';
import { ExportContext, exportIds } from './export_context.ts';
import { HeadActions } from './head/head_actions.tsx';
import { usePause } from './head/pause.ts';
import { oneExport } from './one_export.ts';
import { useWhenChanged } from './following.ts';
import { HealthSentence } from './list/health.tsx';
import { NextRun } from './list/next_run.tsx';
import { overviewOf } from './list/overview.ts';
import { NoSuchExport } from './no_such_export.tsx';
import { scheduleWords } from './schedule_words.ts';
import { ZoneContext } from '../time/instant.tsx';
import './one_export.css';
import { Freshness } from './head/freshness.tsx';
import { Verified } from './head/verified.tsx';
import { pathTo } from '../http/path.ts';
import type { Path } from '../http/path.ts';
import { deliveriesPath } from './notices/notices.ts';
import { runPath } from './runs/runs.ts';

const route = getRouteApi('/signed_in/projects/$project_id/exports/$export_id');

const base = '/projects/$project_id/exports/$export_id';
const exported = '/api/projects/:project_id/batch_exports/:id/';
const runs = '/api/projects/:project_id/batch_exports/:batch_export_id/runs/';
/** The tabs, each with the API route of its data. */
const tabs = [
  { label: 'Map', to: base, asked: `${exported}slots/` },
  { label: 'Runs', to: `${base}/runs`, asked: runs },
  { label: 'Incident', to: `${base}/incident`, asked: runs },
  { label: 'Proof', to: `${base}/proof`, asked: `${exported}proof/` },
  { label: 'Timeline', to: `${base}/timeline`, asked: `${exported}timeline/` },
  { label: 'Metrics', to: `${base}/metrics`, asked: `${exported}metrics/` },
  { label: 'Notices', to: `${base}/notices`, asked: exported },
  { label: 'Settings', to: `${base}/settings`, asked: exported },
] as const;

/** The frame around an export's pages: its name, its state, and the tabs. */
export function ExportFrame() {
  const { project_id, export_id } = route.useParams();
  const { pathname } = useLocation();
  const query = useQuery(oneExport(project_id, export_id));
  const missing = <NoSuchExport project_id={project_id} />;
  if (query.data === undefined || query.error?.status === 404)
    return (
      <Page title="Export">
        <Shown query={query} missing={missing}>
          {() => undefined}
        </Shown>
      </Page>
    );
  return (
    <Shown query={query}>
      {(row) => (
        <ExportContext value={row}>
          <Page
            title={row.name}
            part={partOf(row, pathname)}
            request={requestOf(row, pathname)}
            has_menu
            actions={
              <Actions
                row={row}
                request={requestOf(row, pathname)}
                is_incident={restOf(row, pathname) === '/incident'}
              />
            }
          >
            <ExportActions row={row} />
            <Standing row={row} is_lead={restOf(row, pathname) === ''} />
            <EarlierDeliveries />
            <WaitingSchema />
            <ManagedNote by={row.managed_by} />
            <Tabs project_id={project_id} export_id={export_id} />
            <AroundContext value="page">
              <Outlet />
            </AroundContext>
          </Page>
        </ExportContext>
      )}
    </Shown>
  );
}

/** Shows the tabs of the export, and scrolls to the current one. */
function Tabs(params: { project_id: string; export_id: string }) {
  const { pathname } = useLocation();
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    const nav = place.current!;
    const tab = nav.querySelector<HTMLElement>(`a[href$="${pathname}"]`);
    if (tab !== null)
      nav.scrollLeft = tab.offsetLeft - nav.offsetLeft - (nav.clientWidth - tab.offsetWidth) / 2;
  }, [pathname]);
  return (
    <nav aria-label="Export" className="tabs" ref={place}>
      {tabs.map(({ label, to }) => (
        <Link
          key={to}
          to={to}
          params={params}
          activeOptions={{ exact: to === base, includeSearch: false }}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

function Actions({ row, ...given }: { row: BatchExport; request: Path; is_incident: boolean }) {
  const { data } = useQuery(overviewOf(String(row.team_id), row.id));
  return <HeadActions health={data?.results[0]} {...given} />;
}

/** Registers the export's actions in the command palette. */
function ExportActions({ row }: { row: BatchExport }) {
  const navigate = useNavigate();
  const { label, run } = usePause(row);
  const params = { project_id: String(row.team_id), export_id: row.id };
  useActions([
    {
      label: 'Edit this export',
      run: () => {
        void navigate({ to: `${base}/settings`, params });
        return undefined;
      },
    },
    {
      label: 'Backfill this export',
      run: () => {
        void navigate({ to: base, params, search: { backfill: by_dates } });
        return undefined;
      },
    },
    ...tabs.map(({ label, to }) => ({
      label: `${label} of this export`,
      run: () => {
        void navigate({ to, params });
        return undefined;
      },
    })),
    // Last, because Enter in an empty palette runs the first action, which must change nothing.
    { label: `${label} this export`, run },
  ]);
  return undefined;
}

/** Returns the part of the path after the export; empty for the map. */
const restOf = ({ id }: BatchExport, pathname: string) =>
  pathname.split(`/exports/${id}`)[1]?.replace(/\/$/, '') ?? '';

const tabAt = (rest: string) => tabs.find(({ to }) => to === base + rest);

function partOf(row: BatchExport, pathname: string): string | undefined {
  const rest = restOf(row, pathname);
  return rest.startsWith('/runs/') ? 'Run' : tabAt(rest)?.label;
}

/** Returns the API request of the tab's data, for programs. */
function requestOf(row: BatchExport, pathname: string): Path {
  const ids = exportIds(String(row.team_id), row.id);
  const rest = restOf(row, pathname);
  const run = rest.split('/runs/')[1];
  if (run !== undefined) return runPath(ids, run);
  if (rest === '/notices') return deliveriesPath(row.team_id, { batch_export: row.id });
  return pathTo(tabAt(rest)?.asked ?? exported, ids);
}

/** Shows a link to the export's table, if it exists. */
function TableLink({ row: { id, team_id } }: { row: BatchExport }) {
  const project_id = String(team_id);
  const table = useQuery(tablesOfExport(project_id, id)).data?.results[0];
  if (table === undefined) return undefined;
  return (
    <>
      {' table '}
      <Link to="/projects/$project_id/lake/$table_id" params={{ project_id, table_id: table.id }}>
        {nameOf(table)}
      </Link>
    </>
  );
}

/** Shows the state of the export in a line, like the list; reads it again with every change. */
function Standing({ row, is_lead }: { row: BatchExport; is_lead: boolean }) {
  const queries = useQueryClient();
  const zone = useContext(ZoneContext);
  const labelOf = useDestinationLabel();
  const { model, custom_query, destination } = row;
  const overview = overviewOf(String(row.team_id), row.id);
  const health = useQuery(overview).data?.results[0];
  useWhenChanged(row, () => queries.invalidateQueries({ queryKey: overview.queryKey }));
  return (
    <p className={is_lead ? 'standing lead_state' : 'standing'}>
      <span className="standing_sentence">
        {health === undefined ? '…' : <HealthSentence row={health} />}
      </span>
      <span className="muted">
        {custom_query === null ? model : 'a query'} to {labelOf(destination.type)}
        {destination.type === 'Iceberg' && <TableLink row={row} />}
      </span>
      <span className="muted">{scheduleWords(row, zone)}</span>
      {health !== undefined && <Freshness row={health} />}
      {health !== undefined && <Verified row={health} />}
      {health !== undefined && health.next_run !== null && (
        <span className="muted">
          next run <NextRun row={health} />
        </span>
      )}
    </p>
  );
}
