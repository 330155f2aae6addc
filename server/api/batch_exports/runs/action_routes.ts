import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { NoFields, body } from '../../../platform/http/bodies/body.ts';
import { write } from '../../../platform/http/write.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { exportActionEntry } from '../activity.ts';
import { getLockedRun } from '../found.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { BatchExportRun } from './schema.ts';
import { cancelRun } from './cancel.ts';
import { redeliverRejected } from './redeliver.ts';
import { retryRun } from './retry.ts';
import { findRun } from './store.ts';
import type { LockedRun } from './store.ts';
import { tryNow } from './try_now.ts';
import type { LockedExport } from '../store.ts';

/** Routes `cancel/`, `retry/`, `try_now/` and `redeliver_rejected/` of a run. */
export function runActionRoutes(app: FastifyInstance, { base, within }: Mount): void {
  const action = openAction(within);
  app.post(
    `${base}:batch_export_id/runs/:id/cancel/`,
    ...action(
      'run_cancelled',
      'Cancel a run; the destination keeps none of its rows',
      async (tx, row, run) => {
        await cancelRun(tx, row.id, run);
        return run.id;
      },
    ),
  );
  app.post(
    `${base}:batch_export_id/runs/:id/retry/`,
    ...action(
      'run_retried',
      'Deliver what a failed or cancelled run did not; answers the new run',
      retryRun,
    ),
  );
  app.post(
    `${base}:batch_export_id/runs/:id/try_now/`,
    ...action(
      'run_tried_now',
      'Start the next attempt of a run whose last attempt failed',
      async (tx, row, run) => {
        await tryNow(tx, row.id, run);
        return run.id;
      },
    ),
  );
  app.post(
    `${base}:batch_export_id/runs/:id/redeliver_rejected/`,
    ...action(
      'run_redelivered',
      'Deliver the rows that the destination refused again; answers the new run',
      redeliverRejected,
    ),
  );
}

/** Builds the definition of an action on a run: its activity entry, its summary, and its work. */
function openAction(within: Mount['within']) {
  return (
    activity: string,
    summary: string,
    work: (tx: Transaction, row: LockedExport, run: LockedRun) => Promise<string>,
  ) =>
    [
      {
        config: { scope: 'batch_export:write', within },
        schema: { summary, response: { 200: BatchExportRun } },
      },
      (request: FastifyRequest, reply: FastifyReply) =>
        write(request, reply, 200, async (tx, record) => {
          const { row, run } = await getLockedRun(request, tx);
          body(request, NoFields);
          const answered = await work(tx, row, run);
          record(
            exportActionEntry(activity, row, {
              run: run.id,
              ...(answered === run.id ? {} : { new_run: answered }),
            }),
          );
          return findRun(tx, request.access, row.id, answered);
        }),
    ] as const;
}
