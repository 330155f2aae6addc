import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { warning_reasons } from '../../engine/ingest/warnings/warning.ts';
import { isoInstant } from '../../platform/clock.ts';
import { answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { query } from '../../platform/http/lists/query.ts';
import { IngestionWarning, IngestionWarningQuery } from './schema.ts';
import type { IngestionWarningRow } from './schema.ts';
import { listWarnings } from './store.ts';

const default_ms = 30 * 24 * 3_600_000;

/** Route `/api/projects/:project_id/ingestion_warnings/`: events that were refused or changed. */
export function ingestionWarningRoutes(app: FastifyInstance, { db, clock }: Deps): void {
  app.get(
    '/api/projects/:project_id/ingestion_warnings/',
    {
      config: { scope: 'batch_export:read', within: 'project' },
      schema: {
        summary: 'List the events of a project that were refused or changed, newest first',
        description:
          'Counts of events that were refused, changed, not merged, repeated or deferred, by ' +
          'hour or day and reason, with a few examples each. Counts are a second behind and ' +
          'kept for 90 days. A crash of the server may lose the counts of its last second, ' +
          'but no event.',
        querystring: IngestionWarningQuery,
        response: { 200: pageOf(IngestionWarning) },
      },
    },
    async (request) => {
      const asked = query(request, IngestionWarningQuery);
      const before = asked.before ?? isoInstant(clock.now());
      const wanted = {
        team_id: request.access.team_id!,
        before,
        after: asked.after ?? isoInstant(Date.parse(before) - default_ms),
        interval: asked.interval ?? ('hour' as const),
        reason: asked.reason,
      };
      const page = await answerPage<Omit<IngestionWarningRow, 'outcome'>>(
        request,
        db,
        listWarnings(wanted),
      );
      const results = page.results.map((row) => ({ ...row, outcome: warning_reasons[row.reason] }));
      return { ...page, results };
    },
  );
}
