import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import type { Engine } from '../../engine/exports/engine.ts';
import { isFields } from '../../platform/fields.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { jsonBody } from '../../platform/http/bodies/body.ts';
import { missing } from '../../platform/http/errors.ts';
import { JsonText } from '../../platform/http/lists/in_pieces.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { Problem } from '../../platform/http/responses.ts';
import { writeFound } from '../../platform/http/write.ts';
import { withOwnNames } from './aliases.ts';
import { exportEntry, secretChanges } from './activity.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { createBatchExport } from './create.ts';
import { deleteBatchExport } from './delete.ts';
import { withDestinations } from './body/documented_destination.ts';
import { getExport, getLockedExport } from './found.ts';
import { countBatchExports } from './place.ts';
import { checkNewExport, noProject } from './body/new_export.ts';
import { checkContent, contentOfLocked } from './body/query_check.ts';
import type { QueryCheck } from './body/query_check.ts';
import { checkConnection } from './body/used_connection.ts';
import { changeBatchExport } from './patch.ts';
import type { HowToChange } from './body/changed_export.ts';
import type { Mount } from '../../platform/http/caller/mount.ts';
import { addWrite } from '../../platform/http/records.ts';
import { BatchExport, BatchExportPatch, BatchExportReplacement, NewBatchExport } from './schema.ts';
import {
  findBatchExport,
  findTargetProject,
  listBatchExports,
  selectBatchExport,
} from './store.ts';
import type { ListedExport } from './store.ts';

const new_revision =
  "The export restarts if you change the model, the query, the destination's type, or a key " +
  'that decides the place or the layout of the data. Earlier deliveries then no longer ' +
  'count, and Sluice plans scheduled runs in progress again.';

/** Routes to list, create, retrieve, change and delete exports. */
export function exportRoutes(app: FastifyInstance, engine: Engine, mount: Mount): void {
  readingRoutes(app, engine, mount);
  makingRoute(app, engine, mount);
  changingRoutes(app, engine, mount);
  deleteRoute(app, mount);
}

function readingRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const reading = { scope: 'batch_export:read', within } as const;
  const where =
    within === 'organization' ? 'of all projects of the organization' : 'of the project';

  app.get(
    base,
    {
      config: reading,
      schema: {
        summary: `List the batch exports ${where}, newest first`,
        querystring: PageQuery,
        response: { 200: pageOf(BatchExport) },
      },
    },
    async (request) => {
      const page = await answerPage<ListedExport>(request, engine.db, {
        rows: (asked) => listBatchExports(request.access, asked),
        count: countBatchExports(request.access),
      });
      const results = page.results.map((one) => ({
        ...one,
        latest_runs: new JsonText(one.latest_runs),
      }));
      return { ...page, results };
    },
  );

  app.get(
    `${base}:id/`,
    {
      config: { ...reading, record: selectBatchExport },
      schema: { summary: 'Retrieve a batch export', response: { 200: BatchExport } },
    },
    async (request) => request.record ?? missing(),
  );
}

function makingRoute(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const writing = { scope: 'batch_export:write', within } as const;

  const description =
    "The config is checked against the destination's own schema; wrong keys are named " +
    '`destination__config__<key>`. The export starts with the current interval; a backfill ' +
    'delivers older data.';
  app.post(
    base,
    {
      config: { ...writing, is_one_write: true },
      schema: {
        summary: 'Create a batch export',
        description,
        body: withDestinations(NewBatchExport, 'BatchExportCreate'),
        response: { 201: BatchExport },
      },
    },
    async (request, reply) => {
      const checked = await checkNewExport(engine, request.access, withOwnNames(jsonBody(request)));
      const { place, fields } = checked;
      return writeFound(
        request,
        reply,
        201,
        (tx) => findTargetProject(tx, place, fields.team_id, 'lock'),
        async (project, tx, record) => {
          if (project === undefined) throw noProject(place, fields.team_id);
          const to = { project, created_by: request.caller.user_id, soon: record.soon };
          const { created, row } = await createBatchExport(engine, tx, checked, to);
          record(exportEntry('created', undefined, created, secretChanges(engine, undefined, row)));
          return created;
        },
      );
    },
  );
}

function changingRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const writing = { scope: 'batch_export:write', within } as const;

  const change = (how: HowToChange) => async (request: FastifyRequest, reply: FastifyReply) => {
    const ahead = await checkAhead(engine, request);
    return writeFound(
      request,
      reply,
      200,
      (tx) =>
        Promise.all([getLockedExport(request, tx), getExport(request, tx), databaseInstant(tx)]),
      async ([locked, before, now], tx, record) => {
        const raw = withOwnNames(jsonBody(request));
        const query = await contentOfLocked(engine, raw, ahead, locked);
        const { connection_id: current } = locked;
        const joining = { raw, current, lock: 'lock' } as const;
        const connection = await checkConnection(engine, tx, request.access, joining);
        const wanted = { row: locked, raw, how, query, connection, now, soon: record.soon };
        const { changed, row } = await changeBatchExport(engine, tx, wanted);
        const after = changed ?? before;
        record(exportEntry('updated', before, after, secretChanges(engine, locked, row)), before);
        return after;
      },
    );
  };
  const changing = (summary: string, body: TObject, more: string) => ({
    config: writing,
    schema: {
      summary,
      description: `${more} ${new_revision}`,
      body,
      response: {
        200: BatchExport,
        409: { ...Problem, description: 'It waits since a restore, so you cannot unpause it yet.' },
      },
    },
  });
  app.patch(
    `${base}:id/`,
    changing(
      'Change the sent fields of a batch export',
      BatchExportPatch,
      'The config is merged key by key: an absent secret is kept, a secret sent as null is ' +
        'removed. If you change a key of the address, send each stored secret again (400 ' +
        '`required`). If you change the type, the config starts empty.',
    ),
    change('patch'),
  );
  app.put(
    `${base}:id/`,
    changing(
      'Change a batch export; what may be left out keeps its value',
      withDestinations(BatchExportReplacement, 'BatchExportPut'),
      'The config is replaced, except for secrets that you do not send. As with PATCH, send them ' +
        'again if the config points elsewhere.',
    ),
    change('put'),
  );
}

function deleteRoute(app: FastifyInstance, { base, within }: Mount): void {
  const writing = { scope: 'batch_export:write', within } as const;
  addWrite(app, {
    method: 'DELETE',
    url: `${base}:id/`,
    config: writing,
    summary: 'Delete a batch export; its runs in progress are cancelled',
    response: { 204: { type: 'null' } },
    work: async ({ request, tx, record }) => {
      const { id } = await getLockedExport(request, tx);
      record(exportEntry('deleted', await getExport(request, tx), undefined));
      await deleteBatchExport(tx, id);
    },
  });
}

/**
 * Checks the query of a change before the export is locked; undefined if the body does not affect
 * the query. The change reports an unknown export, an outdated ETag or invalid JSON, in its own
 * order.
 */
async function checkAhead(
  engine: Engine,
  request: FastifyRequest,
): Promise<QueryCheck | undefined> {
  let raw: unknown;
  try {
    raw = withOwnNames(jsonBody(request));
  } catch {
    return undefined;
  }
  if (!isFields(raw) || !('model' in raw || 'custom_query' in raw)) return undefined;
  const before = await findBatchExport(engine.db, request.access, uuidParameter(request, 'id'));
  return before === undefined ? undefined : checkContent(engine, raw, before);
}
