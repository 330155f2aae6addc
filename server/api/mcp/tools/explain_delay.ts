import { Type } from 'typebox';
import type { ApiCall, ApiRecord } from '../api_call.ts';
import { entriesOf, pick, read } from '../api_call.ts';
import { batch_export, defineTool, exportPath, project, projectPath } from '../tool.ts';
import { exportPage } from './get_export.ts';
import { glance_fields } from './list_exports.ts';
import { run_fields } from './list_runs.ts';
import { isGap, shownRange } from './list_slots.ts';

/** Most entries of each kind; the newest explain the state. */
const shown_max = 5;

/** Returns every reason why an export is late or has gaps, in one answer. */
export const explain_delay = defineTool({
  name: 'explain_delay',
  title: 'Why is it late?',
  description:
    'Why an export is late, failing or has gaps: health, gaps of 30 days with reasons, runs in ' +
    'progress and failed runs, warnings of the log.',
  input: Type.Object({ project, export: batch_export }),
  scopes: ['batch_export:read'],
  run: async (args, { api, console_url }) => {
    const path = exportPath(args.project, args.export);
    const found = await read(api, path);
    const [glance, slots, open, failed, logs] = await Promise.all([
      glanceOf(api, args.project, found),
      read(api, `${path}slots/`),
      read(api, `${path}runs/`, { status: 'Starting,Running', limit: shown_max }),
      read(api, `${path}runs/`, { status: 'Failed,FailedRetryable', limit: shown_max }),
      read(api, `${path}logs/`, { level: 'WARNING,ERROR', limit: shown_max }),
    ]);
    const gaps = entriesOf(slots, 'ranges').filter(isGap);
    return {
      ...pick(glance, glance_fields),
      ...pick(found, ['pause_reason', 'freshness_seconds', 'start_at', 'end_at']),
      next: open['detail'],
      gaps: gaps.toReversed().slice(0, shown_max).map(shownRange),
      gaps_total: gaps.length,
      runs_under_way: entriesOf(open).map((run) => pick(run, run_fields)),
      runs_failed: entriesOf(failed).map((run) => pick(run, run_fields)),
      warnings: entriesOf(logs).map((line) => pick(line, ['timestamp', 'level', 'message', 'run'])),
      open: exportPage(console_url, found),
    };
  },
});

/** Returns the export's entry in the overview. */
async function glanceOf(
  api: ApiCall,
  project_id: number | undefined,
  { id, name }: ApiRecord,
): Promise<ApiRecord> {
  const answer = await read(api, `${projectPath(project_id)}overview/`, {
    batch_export: String(id),
    slots: 0,
  });
  return entriesOf(answer)[0] ?? { id, name };
}
