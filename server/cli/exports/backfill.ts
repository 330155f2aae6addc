import type { Backfill } from '../../api/batch_exports/backfills/schema.ts';
import { openApi } from '../client/api.ts';
import type { Api } from '../client/api.ts';
import { askUntil } from '../client/poll.ts';
import { printJson, say } from '../client/print.ts';
import type { Output } from '../client/print.ts';
import { readInstant } from '../client/read_options.ts';
import type { ReadFlags } from '../client/read_options.ts';
import { exportPath, findExportId } from './find_export.ts';
import { hasEnded } from './shown_export.ts';

type Waiting = ReadFlags & { wait?: boolean };
type BackfillFlags = Waiting & {
  from: string;
  to: string;
  by?: string;
  all?: boolean;
  dryRun?: boolean;
};

/** `sluice exports backfill`: delivers a range of the past. */
export async function backfillExport(
  output: Output,
  name: string,
  flags: BackfillFlags,
): Promise<number> {
  const body = {
    start_at: readInstant('--from', flags.from),
    end_at: readInstant('--to', flags.to),
    mode: flags.all === true ? 'all' : 'missing',
    ...(flags.by === undefined ? {} : { by: flags.by }),
    ...(flags.dryRun === true ? { dry_run: true } : {}),
  };
  const api = openApi(flags);
  const id = await findExportId(api, name);
  return startBackfill(api, output, id, 'backfill/', body, flags);
}

/**
 * `sluice exports run`: delivers now the rows ingested since the last scheduled interval, without
 * waiting for the end of the current one. The scheduled run delivers the rest.
 */
export async function runExport(output: Output, name: string, flags: Waiting): Promise<number> {
  const api = openApi(flags);
  const id = await findExportId(api, name);
  return startBackfill(api, output, id, 'run_now/', {}, flags);
}

async function startBackfill(
  api: Api,
  output: Output,
  id: string,
  route: 'backfill/' | 'run_now/',
  body: object,
  { json, wait }: Waiting,
): Promise<number> {
  const path = exportPath(api, id, route);
  const { backfill } = await api.post<{ backfill: Backfill }>(path, body);
  if (wait !== true || backfill.id === null) {
    tell(output, backfill, json);
    return 0;
  }
  let shown: string | null = null;
  const ended = await askUntil(
    () => api.get<Backfill>(exportPath(api, id, `backfills/${backfill.id}/`)),
    hasEnded,
    ({ detail }) => {
      if (detail !== shown && output.is_terminal && json !== true) say(output, detail ?? '');
      shown = detail;
    },
  );
  if (!output.is_terminal || json === true) tell(output, ended, json);
  return ended.status === 'Completed' ? 0 : 1;
}

function tell(output: Output, backfill: Backfill, json: boolean | undefined): void {
  if (json === true) printJson(output, backfill);
  else say(output, backfill.detail ?? backfill.status);
}
