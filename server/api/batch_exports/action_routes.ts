import type { FastifyInstance } from 'fastify';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { exportActionEntry, exportEntry } from './activity.ts';
import { getExport, getLockedExport } from './found.ts';
import { paused, recordPause, unpaused } from './pause.ts';
import type { PauseChange } from './pause.ts';
import type { Mount } from '../../platform/http/caller/mount.ts';
import { addWrite } from '../../platform/http/records.ts';
import { BatchExport, Unpause } from './schema.ts';
import { tryNow } from './runs/try_now.ts';
import { updateBatchExport } from './store.ts';
import type { LockedExport } from './store.ts';

/** Routes `pause/`, `unpause/` and `try_now/` of an export. */
export function actionRoutes(app: FastifyInstance, mount: Mount): void {
  pauseRoute(app, mount);
  unpauseRoute(app, mount);
  tryNowRoute(app, mount);
}

function pauseRoute(app: FastifyInstance, { base, within }: Mount): void {
  const writing = { scope: 'batch_export:write', within, if_match: true } as const;

  const pausing = {
    summary: 'Pause a batch export',
    description:
      'Plans no further runs; runs in progress and backfills continue. Pausing a paused export ' +
      'changes nothing.',
    response: { 200: BatchExport },
  };
  addWrite(app, {
    url: `${base}:id/pause/`,
    config: writing,
    ...pausing,
    work: async ({ request, tx, record }) => {
      const row = await getLockedExport(request, tx);
      body(request, NoFields);
      const before = await getExport(request, tx);
      const change = paused(row, await databaseInstant(tx));
      const after = (await apply(tx, row, change)) ?? before;
      record(exportEntry('paused', before, after));
      return after;
    },
  });
}

function unpauseRoute(app: FastifyInstance, { base, within }: Mount): void {
  const writing = { scope: 'batch_export:write', within, if_match: true } as const;

  const description =
    'Continues with the current interval, or with `"backfill": true` with the first missed ' +
    'one. Unpausing an active export changes nothing; an export that waits since a restore ' +
    'answers 409 until it is reconciled.';
  addWrite(app, {
    url: `${base}:id/unpause/`,
    config: writing,
    summary: 'Unpause a batch export',
    description,
    body: Unpause,
    response: { 200: BatchExport },
    work: async ({ request, tx, record }) => {
      const row = await getLockedExport(request, tx);
      const { backfill = false } = body(request, Unpause);
      const before = await getExport(request, tx);
      const change = unpaused(row, await databaseInstant(tx), backfill);
      const after = (await apply(tx, row, change)) ?? before;
      record(exportEntry('unpaused', before, after));
      return after;
    },
  });
}

function tryNowRoute(app: FastifyInstance, { base, within }: Mount): void {
  addWrite(app, {
    url: `${base}:id/try_now/`,
    config: { scope: 'batch_export:write', within, if_match: true },
    summary: 'Start the next attempts of all waiting runs of a batch export',
    description:
      'A run whose attempt failed waits up to two minutes before the next one. Use this ' +
      'after you have removed the cause: the next attempt then starts at once. Answers ' +
      '409 if no run waits.',
    response: { 200: BatchExport },
    work: async ({ request, tx, record }) => {
      const row = await getLockedExport(request, tx);
      body(request, NoFields);
      const runs = await tryNow(tx, row.id);
      record(exportActionEntry('runs_tried_now', row, { runs }));
      return getExport(request, tx);
    },
  });
}

async function apply(
  tx: Transaction,
  row: LockedExport,
  change: PauseChange | undefined,
): Promise<BatchExport | undefined> {
  if (change === undefined) return undefined;
  await recordPause(tx, row.id, change);
  return updateBatchExport(tx, row.id, { ...row, ...change.fields });
}
