import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import { getExport } from '../found.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { BatchExportLogs, DocumentedLogQuery } from './schema.ts';
import { answerLogs } from './store.ts';

/** Route `logs/` of an export. */
export function logRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const logs = {
    summary: 'Retrieve a batch export with its log, newest line first',
    querystring: DocumentedLogQuery,
    response: { 200: BatchExportLogs },
  };
  app.get(
    `${base}:id/logs/`,
    { config: { scope: 'batch_export:read', within }, schema: logs },
    async (request) => {
      const found = await getExport(request, engine.db);
      return { ...found, ...(await answerLogs(request, engine.db, found.id)) };
    },
  );
}
