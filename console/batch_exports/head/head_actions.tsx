import { Button } from '@mantine/core';
import IconDots from 'icon:dots';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useContext, useState } from 'react';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { ActButton } from '../act_button.tsx';
import { by_dates } from '../backfills/by_dates.ts';
import { exportPath, useExport } from '../export_context.ts';
import { isInTrouble } from '../incident/trouble.ts';
import { useReadAnew } from '../read_anew.ts';
import { TryNow } from '../runs/next_try.tsx';
import { CurlDialog } from '../../page/as_curl.tsx';
import { BusyButton } from '../../page/busy_button.tsx';
import { LinkButton } from '../../page/link_button.tsx';
import { Menu, MenuAction, MenuLink } from '../../page/menu.tsx';
import { counted } from '../../page/text/quantities.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { seconds } from '../../time/words.ts';
import { pathTo } from '../../http/path.ts';
import { usePause } from './pause.ts';

const base = '/projects/$project_id/exports/$export_id';

/** The actions on an export. The most useful one now is filled. */
export function HeadActions({
  health,
  request,
  is_incident,
}: {
  /** Undefined until it was read. */
  health: ExportOverview | undefined;
  /** The API path of the page's data. */
  request: string;
  /** True on the incident page. */
  is_incident: boolean;
}) {
  const { row } = useExport();
  const params = { project_id: String(row.team_id), export_id: row.id };
  const in_trouble = health !== undefined && !row.paused && isInTrouble(health);
  const is_waiting = row.latest_runs.some(({ next_try_at }) => next_try_at !== null);
  return (
    <>
      {in_trouble && is_waiting && <TryNow is_primary />}
      {in_trouble && !is_incident && (
        <LinkButton
          variant={is_waiting ? 'default' : 'filled'}
          to={`${base}/incident`}
          params={params}
        >
          See what is wrong
        </LinkButton>
      )}
      <RunNow is_primary={health !== undefined && !in_trouble && !row.paused} />
      <LinkButton to={base} params={params} search={{ backfill: by_dates }}>
        Backfill
      </LinkButton>
      <Pause row={row} />
      <LinkButton to={`${base}/settings`} params={params} className="wide_only">
        Edit
      </LinkButton>
      <LinkButton
        to="/projects/$project_id/exports/new"
        params={params}
        search={{ copy_of: row.id }}
        className="wide_only"
      >
        Duplicate
      </LinkButton>
      <More row={row} request={request} />
    </>
  );
}

function RunNow({ is_primary }: { is_primary: boolean }) {
  const { row, ids } = useExport();
  const zone = useContext(ZoneContext);
  const readAnew = useReadAnew(exportPath(ids));
  // Without a next run the schedule has ended, and the server would refuse.
  if (row.next_run === null && !row.paused) return undefined;
  return (
    <ActButton
      path={pathTo('/api/projects/:project_id/batch_exports/:id/run_now/', ids)}
      label="Run now"
      size="compact-sm"
      is_primary={is_primary}
      done={async ({ backfill }) => {
        await readAnew();
        return startedInWords(backfill, zone);
      }}
      is_told_briefly
    />
  );
}

function startedInWords({ plan, settles_at }: Backfill, zone: string): string {
  const rows = plan?.runs.reduce((sum, run) => sum + run.records_total_count, 0);
  if (rows === 0) return 'No new rows since the last run.';
  const what = rows === undefined ? 'all new rows' : counted(rows, 'new row');
  return `Run started: it delivers ${what} at ${seconds(settles_at!, zone).slice(11)}.`;
}

function Pause({ row }: { row: BatchExport }) {
  const { label, run } = usePause(row);
  const { mutate, isPending, data } = useMutation({ mutationFn: run });
  return (
    <>
      <BusyButton
        size="compact-sm"
        is_primary={row.paused}
        is_busy={isPending}
        press={() => mutate()}
      >
        {label}
      </BusyButton>
      <span role="status" className="small">
        {data}
      </span>
    </>
  );
}

function More({ row, request }: { row: BatchExport; request: string }) {
  const [has_command, showCommand] = useState(false);
  const navigate = useNavigate();
  const params = { project_id: String(row.team_id), export_id: row.id };
  return (
    <>
      <Menu
        renderButton={(opener) => (
          <Button size="compact-sm" aria-label="More actions" {...opener}>
            <IconDots size={16} aria-hidden />
          </Button>
        )}
      >
        <MenuLink to={`${base}/settings`} params={params} className="narrow_only">
          Edit
        </MenuLink>
        <MenuLink
          to="/projects/$project_id/exports/new"
          params={params}
          search={{ copy_of: row.id }}
          className="narrow_only"
        >
          Duplicate
        </MenuLink>
        <MenuAction act={() => showCommand(true)}>As curl</MenuAction>
        <MenuAction is_danger act={() => void navigate({ to: `${base}/settings`, params })}>
          Delete…
        </MenuAction>
      </Menu>
      {has_command && <CurlDialog path={request} close={() => showCommand(false)} />}
    </>
  );
}
