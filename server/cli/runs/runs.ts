import type { BatchExportRun } from '../../api/batch_exports/runs/schema.ts';
import { counted } from '../../platform/counted.ts';
import { openApi } from '../client/api.ts';
import type { Api } from '../client/api.ts';
import { askUntil } from '../client/poll.ts';
import { coloured, printJson, printTable, say } from '../client/print.ts';
import type { Output } from '../client/print.ts';
import { readCount } from '../client/read_options.ts';
import type { ReadFlags } from '../client/read_options.ts';
import { exportPath, findExportId } from '../exports/find_export.ts';
import { hasEnded, moodOfStatus, runColumns } from '../exports/shown_export.ts';
import { oneLine } from '../shown_text.ts';
import { terminalText } from '../../platform/terminal_text.ts';
import { UserError } from '../user_error.ts';

/** `sluice runs list`: the runs of an export, newest first. */
export async function listRuns(
  output: Output,
  name: string,
  flags: ReadFlags & { status?: string; limit: string },
): Promise<number> {
  const api = openApi(flags);
  const id = await findExportId(api, name);
  const limit = readCount('--limit', flags.limit);
  const query = { status: flags.status };
  const runs = await api.list<BatchExportRun>(exportPath(api, id, 'runs/'), limit, query);
  if (flags.json === true) printJson(output, runs);
  else if (runs.length === 0 && output.is_terminal) say(output, 'No runs.');
  else printTable(output, runs, runColumns(output));
  return 0;
}

/**
 * `sluice runs watch`: shows a run (by default the newest) until it has ended; exit code 1 if it
 * did not complete.
 */
export async function watchRun(
  output: Output,
  name: string,
  run: string | undefined,
  flags: ReadFlags,
): Promise<number> {
  const api = openApi(flags);
  const id = await findExportId(api, name);
  const run_id = run ?? (await newestRun(api, id));
  const path = exportPath(api, id, `runs/${encodeURIComponent(run_id)}/`);
  let shown = '';
  const ended = await askUntil(
    () => api.get<BatchExportRun>(path),
    hasEnded,
    (seen) => {
      const line = lineOf(seen);
      if (line !== shown && flags.json !== true)
        output.write(`${coloured(output, moodOfStatus(seen.status), line)}\n`);
      shown = line;
    },
  );
  if (flags.json === true) printJson(output, ended);
  return ended.status === 'Completed' ? 0 : 1;
}

/** `sluice runs cancel`: cancels a run; the destination keeps none of its rows. */
export async function cancelRun(
  output: Output,
  name: string,
  run: string,
  flags: ReadFlags,
): Promise<number> {
  const changed = await act(name, run, 'cancel/', flags);
  if (flags.json === true) printJson(output, changed);
  else
    say(
      output,
      changed.status === 'Cancelled'
        ? 'Cancelled.'
        : 'Cancellation requested: a worker cancels the run.',
    );
  return 0;
}

/** `sluice runs retry`: delivers the rows of a failed or cancelled run, in a new run. */
export async function retryRun(
  output: Output,
  name: string,
  run: string,
  flags: ReadFlags,
): Promise<number> {
  const created = await act(name, run, 'retry/', flags);
  if (flags.json === true) printJson(output, created);
  else say(output, output.is_terminal ? `Retrying as run ${created.id}.` : created.id);
  return 0;
}

async function act(
  name: string,
  run: string,
  action: string,
  flags: ReadFlags,
): Promise<BatchExportRun> {
  const api = openApi(flags);
  const id = await findExportId(api, name);
  const path = `runs/${encodeURIComponent(run)}/${action}`;
  return api.post<BatchExportRun>(exportPath(api, id, path));
}

async function newestRun(api: Api, id: string): Promise<string> {
  const [newest] = await api.list<BatchExportRun>(exportPath(api, id, 'runs/'), 1);
  if (newest !== undefined) return newest.id;
  throw new UserError('This export has no run yet: `sluice exports run` starts one.');
}

function lineOf(run: BatchExportRun): string {
  const { status, records_completed, records_total_count, latest_error } = run;
  const done = records_completed ?? 0;
  const rows =
    records_total_count === null
      ? counted(done, 'row')
      : `${done} of ${counted(records_total_count, 'row')}`;
  const error = latest_error === null ? '' : `: ${latest_error}`;
  return terminalText(oneLine(`${status}, ${rows}${error}`));
}
