import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { isReplacing, writtenBy } from '../../../engine/model/destination/write_mode.ts';
import { destinationDeps } from '../../../engine/exports/engine.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { refuseAgentBeside } from '../../../platform/http/caller/agent.ts';
import { isValidateOnly } from '../../../platform/http/lists/query.ts';
import { ChangeEffect, DestinationTest, ExportPreview } from './schema.ts';
import { changedDraft, newDraft } from './draft.ts';
import type { Draft } from './draft.ts';
import { effectOfChange } from './effect.ts';
import { preview } from './preview.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { BatchExportPatch, NewBatchExport } from '../schema.ts';
import { withDestinations } from '../body/documented_destination.ts';

/**
 * Routes `test/` and `preview/`, for a stored export or a new one, and `effect/` of a stored one.
 */
export function draftRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const config = { scope: 'batch_export:write', within } as const;
  const changing = { ...config, if_match: true };
  const draft = withDestinations(NewBatchExport, 'BatchExportCreate');
  const testing = (body: TObject) => ({
    summary: 'Test the connection to a destination',
    description:
      'Writes a row, reads it back and removes it. Nothing is stored. If the body changes ' +
      'the address, it must contain the secrets again.',
    body,
    response: { 200: DestinationTest },
  });
  const previewing = (body: TObject) => ({
    summary: 'Show the oldest 10 rows as the destination would get them',
    description: 'If they exceed 4 MiB, only the oldest row; 400 if that row exceeds 16 MiB.',
    body,
    response: { 200: ExportPreview },
  });

  app.post(`${base}test/`, { config, schema: testing(draft) }, async (request) =>
    testDraft(engine, request, await newDraft(engine, request)),
  );
  app.post(
    `${base}:id/test/`,
    { config: changing, schema: testing(BatchExportPatch) },
    async (request) => testDraft(engine, request, await changedDraft(engine, request)),
  );
  app.post(`${base}preview/`, { config, schema: previewing(draft) }, async (request) =>
    preview(engine, request.access.organization_id, await newDraft(engine, request)),
  );
  app.post(
    `${base}:id/preview/`,
    { config: changing, schema: previewing(BatchExportPatch) },
    async (request) =>
      preview(engine, request.access.organization_id, await changedDraft(engine, request)),
  );
  effectRoute(app, engine, base, changing);
}

function effectRoute(
  app: FastifyInstance,
  engine: Engine,
  base: string,
  config: FastifyContextConfig,
): void {
  app.post(
    `${base}:id/effect/`,
    {
      config,
      schema: {
        summary: 'Show the effect of changing an export',
        description: 'Accepts the body of PATCH, checks it like PATCH, and changes nothing.',
        body: BatchExportPatch,
        response: { 200: ChangeEffect },
      },
    },
    (request) => effectOfChange(engine, request),
  );
}

async function testDraft(engine: Engine, request: FastifyRequest, draft: Draft) {
  if (isValidateOnly(request)) return { steps: [] };
  await refuseAgentBeside(engine.db, request);
  const { definition, config, columns, write_rule } = draft;
  return {
    steps: await definition.check(config, columns, {
      ...destinationDeps(engine, AbortSignal.timeout(60_000)),
      ...writtenBy(write_rule),
      replaces: isReplacing(write_rule),
    }),
  };
}
