import { useQueryClient } from '@tanstack/react-query';
import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import { askForChange } from '../../http/change.ts';
import { etagOf } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';
import { exportIds, exportPath } from '../export_context.ts';
import { useReadAnew } from '../read_anew.ts';

/**
 * Returns the action that pauses or resumes: its label, and the request, which returns the result
 * or the refusal.
 */
export function usePause(row: BatchExport): { label: string; run: () => Promise<string> } {
  const queries = useQueryClient();
  const ids = exportIds(String(row.team_id), row.id);
  const readAnew = useReadAnew(exportPath(ids));
  const act = async (action: 'pause' | 'unpause', body: { backfill?: boolean }, done: string) => {
    const to = `/api/projects/:project_id/batch_exports/:id/${action}/` as const;
    const sent = { body, if_match: etagOf(row) };
    const outcome = await askForChange(queries, 'POST', pathTo(to, ids), sent);
    if (!outcome.ok) return outcome.problem.message;
    await readAnew();
    return done;
  };
  return row.paused
    ? {
        label: 'Resume',
        run: () => act('unpause', { backfill: true }, 'The export is resumed.'),
      }
    : { label: 'Pause', run: () => act('pause', {}, 'The export is paused.') };
}
