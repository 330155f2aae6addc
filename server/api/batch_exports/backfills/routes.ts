import type { FastifyInstance, FastifyRequest } from 'fastify';
import { cancelBackfill } from '../../../engine/exports/planning/backfill.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import { NoFields, body, jsonBody } from '../../../platform/http/bodies/body.ts';
import { conflict, missing } from '../../../platform/http/errors.ts';
import { inReadTurn, ownerOf } from '../../../platform/http/limits/owner_turns.ts';
import { PageQuery, answerPage, pageOf } from '../../../platform/http/lists/pagination.ts';
import { write } from '../../../platform/http/write.ts';
import type { RecordActivity } from '../../../platform/http/write.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { exportActionEntry } from '../activity.ts';
import type { LockedExport } from '../store.ts';
import { backfill } from './backfill.ts';
import { listEarlierRanges } from './earlier.ts';
import { runNow } from './run_now.ts';
import { findBackfill, listBackfills } from './store.ts';
import { getExport, getPresence, getLockedExport } from '../found.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { addRoute, addWrite } from '../../../platform/http/records.ts';
import {
  Backfill,
  BatchExportWithBackfill,
  BatchExportWithBackfillId,
  EarlierDeliveries,
  NewBackfill,
} from './schema.ts';

/** Routes `backfill/`, `run_now/` and `backfills/` of an export. */
export function backfillRoutes(app: FastifyInstance, engine: Engine, mount: Mount): void {
  startRoute(app, engine, mount);
  runNowRoute(app, engine, mount);
  earlierRoute(app, engine, mount);
  readingRoutes(app, engine, mount);
  cancelRoute(app, mount);
}

function startRoute(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const description =
    'Delivers the events that happened in the range (persons: that changed in it), in their ' +
    'current form, one run per interval. With `by` `inserted_at` it delivers the events that ' +
    'were ingested in the range. With mode `missing` no row is delivered twice. Also works ' +
    'while the export is paused.';
  const config = { scope: 'batch_export:write', within } as const;
  const schema = { summary: 'Deliver a range of the past', description, body: NewBackfill };
  addRoute(app, {
    method: 'POST',
    url: `${base}:id/backfill/`,
    config: { ...config, if_match: true },
    ...schema,
    response: { 200: BatchExportWithBackfill },
    handler: (request, reply) =>
      write(request, reply, 200, start(request, 'id', asked(engine, request))),
  });

  // Other clients create a backfill by a POST to the list.
  addWrite(app, {
    url: `${base}:batch_export_id/backfills/`,
    config,
    ...schema,
    summary: 'Deliver a range of the past; another name of `backfill/`',
    response: { 201: BatchExportWithBackfillId },
    work: async ({ request, tx, record }) => {
      const starting = asked(engine, request);
      const started = await start(request, 'batch_export_id', starting)(tx, record);
      return { ...started, backfill_id: started.backfill.id };
    },
  });
}

type Starting = (tx: Transaction, row: LockedExport) => Promise<Backfill>;

const asked =
  (engine: Engine, request: FastifyRequest): Starting =>
  (tx, row) =>
    backfill(engine, tx, request.access, row, jsonBody(request));

function runNowRoute(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const summary = 'Deliver now the rows ingested since the last planned interval';
  // Other clients call it `run/`.
  for (const [name, said] of [
    ['run_now', summary],
    ['run', `${summary}; another name of \`run_now/\``],
  ] as const)
    addRoute(app, {
      method: 'POST',
      url: `${base}:id/${name}/`,
      config: { scope: 'batch_export:write', within, if_match: true },
      summary: said,
      description:
        'Starts a backfill by ingestion time, mode `missing`, from the end of the last ' +
        'planned interval until now. The next scheduled run leaves its rows out, so calling ' +
        'it twice delivers no row twice. It also works while the export is paused.',
      response: { 200: BatchExportWithBackfill },
      handler: (request, reply) => {
        const starting: Starting = (tx, row) => {
          body(request, NoFields);
          return runNow(engine, tx, request.access, row);
        };
        return write(request, reply, 200, start(request, 'id', starting));
      },
    });
}

function earlierRoute(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  addRoute(app, {
    url: `${base}:id/earlier_deliveries/`,
    config: { scope: 'batch_export:read', within },
    summary: 'List what was delivered before the export restarted, and is missing since',
    description:
      'An export restarts if you change the place, the model or the query, or if its ' +
      'table disappears. The answer lists the ranges delivered before the restart, as ' +
      'bodies for `backfill/`. It is empty if no row is missing.',
    response: { 200: EarlierDeliveries },
    handler: async (request) => {
      const { id } = await getPresence(request, engine.db);
      return { ranges: await listEarlierRanges(engine.db, id) };
    },
  });
}

function start(request: FastifyRequest, parameter: 'id' | 'batch_export_id', starting: Starting) {
  return async (tx: Transaction, record: RecordActivity) => {
    const row = await getLockedExport(request, tx, parameter);
    const started = await starting(tx, row);
    const { id, mode, by, is_run_now, start_at, end_at, runs } = started;
    record(
      id === null
        ? 'nothing'
        : exportActionEntry(is_run_now ? 'ran_now' : 'backfilled', row, {
            backfill: { id, mode, by, start_at, end_at, runs },
          }),
    );
    return { ...(await getExport(request, tx, parameter)), backfill: started };
  };
}

function readingRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const reading = { scope: 'batch_export:read', within } as const;
  const list = `${base}:batch_export_id/backfills/`;

  const listed = {
    summary: "List a batch export's backfills, newest first",
    querystring: PageQuery,
    response: { 200: pageOf(Backfill) },
  };
  addRoute(app, {
    url: list,
    config: reading,
    ...listed,
    handler: (request) => answerBackfills(engine, request),
  });

  addRoute(app, {
    url: `${list}:id/`,
    config: reading,
    summary: 'Retrieve a backfill with its progress',
    response: { 200: Backfill },
    handler: async (request) => {
      const [exportId, id] = [
        uuidParameter(request, 'batch_export_id'),
        uuidParameter(request, 'id'),
      ];
      const found = await inReadTurn(ownerOf(request), () =>
        findBackfill(engine.db, request.access, exportId, id),
      );
      return found ?? missing();
    },
  });
}

function cancelRoute(app: FastifyInstance, { base, within }: Mount): void {
  addWrite(app, {
    url: `${base}:batch_export_id/backfills/:id/cancel/`,
    config: { scope: 'batch_export:write', within },
    summary: 'Cancel a backfill and its runs in progress; delivered rows stay',
    response: { 200: Backfill },
    work: async ({ request, tx, record }) => {
      const id = uuidParameter(request, 'id');
      const row = await getLockedExport(request, tx, 'batch_export_id');
      const before = (await findBackfill(tx, request.access, row.id, id)) ?? missing();
      body(request, NoFields);
      if (!(await cancelBackfill(tx, id)))
        throw conflict(`The backfill has ended: its status is ${before.status}.`);
      record(exportActionEntry('backfill_cancelled', row, { backfill: { id } }));
      return findBackfill(tx, request.access, row.id, id);
    },
  });
}

async function answerBackfills(engine: Engine, request: FastifyRequest) {
  const { id } = await getPresence(request, engine.db, 'batch_export_id');
  return inReadTurn(ownerOf(request), () =>
    answerPage<Backfill>(request, engine.db, listBackfills(request.access, id)),
  );
}
