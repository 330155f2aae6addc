import type { BatchExport } from '../../api/batch_exports/schema.ts';
import type { BulkAction } from '../../api/batch_exports/bulk_actions/schema.ts';
import { openApi } from '../client/api.ts';
import { printJson, say } from '../client/print.ts';
import type { Output } from '../client/print.ts';
import type { ReadFlags } from '../client/read_options.ts';
import { exportPath, findExportId } from './find_export.ts';

/** `sluice exports pause`: plans no scheduled run until the export is resumed. */
export async function pauseExport(output: Output, name: string, flags: ReadFlags): Promise<number> {
  const api = openApi(flags);
  const id = await findExportId(api, name);
  const paused = await api.post<BatchExport>(exportPath(api, id, 'pause/'));
  if (flags.json === true) printJson(output, paused);
  else say(output, `Paused ${paused.name}. Runs in progress continue.`);
  return 0;
}

/**
 * `sluice exports resume`: scheduled runs continue; with `--backfill`, missed intervals are
 * delivered too.
 */
export async function resumeExport(
  output: Output,
  name: string,
  flags: ReadFlags & { backfill?: boolean },
): Promise<number> {
  const api = openApi(flags);
  const id = await findExportId(api, name);
  const body = flags.backfill === true ? { backfill: true } : {};
  const resumed = await api.post<BatchExport>(exportPath(api, id, 'unpause/'), body);
  if (flags.json === true) printJson(output, resumed);
  else say(output, `Resumed ${resumed.name}.`);
  return 0;
}

/** `sluice exports retry`: retries all failed runs of an export. */
export async function retryExport(output: Output, name: string, flags: ReadFlags): Promise<number> {
  const api = openApi(flags);
  const id = await findExportId(api, name);
  const body = { action: 'retry_runs', filter: {} };
  const action = await api.post<BulkAction>(exportPath(api, id, 'runs/bulk/'), body);
  if (flags.json === true) printJson(output, action);
  else say(output, action.detail);
  return 0;
}
