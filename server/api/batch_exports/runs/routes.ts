import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Engine } from '../../../engine/exports/engine.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import { answerKeyset, cursorQuery, keysetAsked } from '../../../platform/http/lists/cursor.ts';
import { conflict, missing } from '../../../platform/http/errors.ts';
import { Problem } from '../../../platform/http/responses.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { choicesAsked } from '../body/choices.ts';
import { getExport } from '../found.ts';
import { BatchExportRunLogs, DocumentedLogQuery } from '../logs/schema.ts';
import { answerLogs } from '../logs/store.ts';
import { RunPage, runsAhead } from './next_run.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { BatchExportRun, Receipt, RunFilter, run_statuses } from './schema.ts';
import { retried_statuses, retryAnswers } from './retry_plan.ts';
import { findReceipt, findRun, listRuns } from './store.ts';

const orders = ['created_at', 'data_interval_start'] as const;
const RunsQuery = Type.Object({
  ...cursorQuery(orders).properties,
  ...RunFilter.properties,
  status: Type.Optional(
    Type.Array(Type.Enum([...run_statuses]), {
      description: 'Only runs with one of these statuses; repeated or separated by commas.',
    }),
  ),
});

/** Routes `runs/` of an export: list, retrieve, logs, receipt. */
export function runRoutes(app: FastifyInstance, engine: Engine, mount: Mount): void {
  readingRoutes(app, engine, mount);
  receiptRoute(app, engine, mount);
}

function readingRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const reading = { scope: 'batch_export:read', within } as const;
  const list = `${base}:batch_export_id/runs/`;
  const one = `${list}:id/`;

  const listed = {
    summary: "List a batch export's runs, newest first",
    querystring: RunsQuery,
    response: { 200: RunPage },
  };
  app.get(list, { config: reading, schema: listed }, (request) => answerRuns(engine, request));

  app.get(
    one,
    { config: reading, schema: { summary: 'Retrieve a run', response: { 200: BatchExportRun } } },
    (request) => getRun(engine, request),
  );

  app.get(
    `${one}logs/`,
    {
      config: reading,
      schema: {
        summary: 'Retrieve a run with its log, newest line first',
        querystring: DocumentedLogQuery,
        response: { 200: BatchExportRunLogs },
      },
    },
    async (request) => {
      const run = await getRun(engine, request);
      return { ...run, ...(await answerLogs(request, engine.db, run.batch_export, run.id)) };
    },
  );
}

function receiptRoute(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const signed =
    'The signature covers the JSON text of the receipt without its last key, `signature`. The ' +
    'answer has exactly the signed bytes.';
  app.get(
    `${base}:batch_export_id/runs/:id/receipt/`,
    {
      config: { scope: 'batch_export:read', within },
      schema: {
        summary: 'Retrieve the signed receipt of a completed run',
        description: signed,
        response: { 200: Receipt, 409: { ...Problem, description: 'The run has not completed.' } },
      },
    },
    async (request, reply) => {
      const found =
        (await findReceipt(
          engine.db,
          request.access,
          uuidParameter(request, 'batch_export_id'),
          uuidParameter(request, 'id'),
        )) ?? missing();
      if (found.status !== 'Completed' || found.receipt === null)
        throw conflict(
          `Only a completed run has a receipt; the status of this one is ${found.status}.`,
        );
      return reply.type('application/json; charset=utf-8').send(found.receipt);
    },
  );
}

async function getRun(engine: Engine, request: FastifyRequest): Promise<BatchExportRun> {
  return (
    (await findRun(
      engine.db,
      request.access,
      uuidParameter(request, 'batch_export_id'),
      uuidParameter(request, 'id'),
    )) ?? missing()
  );
}

async function answerRuns(engine: Engine, request: FastifyRequest) {
  const found = await getExport(request, engine.db, 'batch_export_id');
  const { after, before } = query(request, RunFilter);
  const keyset = keysetAsked(request, orders);
  const runs = await listRuns(engine.db, found.id, keyset, {
    statuses: choicesAsked(request, 'status', run_statuses),
    after,
    before,
  });
  const page = answerKeyset(request, keyset, runs);
  const ended = page.results.filter(({ status }) => retried_statuses.includes(status));
  const answers = await retryAnswers(
    engine.db,
    ended.map(({ id }) => id),
    { in_turn: false },
  );
  return { ...page, retries: Object.fromEntries(answers), ...(await runsAhead(engine, found)) };
}
