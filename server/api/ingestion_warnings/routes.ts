import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { warning_reasons } from '../../engine/ingest/warnings/warning.ts';
import { isoInstant } from '../../platform/clock.ts';
import { query } from '../../platform/http/lists/query.ts';
import { addList } from '../../platform/http/records.ts';
import { IngestionWarning, IngestionWarningQuery } from './schema.ts';
import type { IngestionWarningRow } from './schema.ts';
import { listWarnings } from './store.ts';

const default_ms = 30 * 24 * 3_600_000;

/** Route `/api/projects/:project_id/ingestion_warnings/`: events that were refused or changed. */
export function ingestionWarningRoutes(app: FastifyInstance, { clock }: Deps): void {
  addList(app, {
    url: '/api/projects/:project_id/ingestion_warnings/',
    config: { scope: 'batch_export:read', within: 'project' },
    summary: 'List the events of a project that were refused or changed, newest first',
    description:
      'Counts of events that were refused, changed, not merged, repeated or deferred, by ' +
      'hour or day and reason, with a few examples each. Counts are a second behind and ' +
      'kept for 90 days. A crash of the server may lose the counts of its last second, ' +
      'but no event.',
    querystring: IngestionWarningQuery,
    answer: IngestionWarning,
    rows: (request) => {
      const asked = query(request, IngestionWarningQuery);
      const before = asked.before ?? isoInstant(clock.now());
      return listWarnings({
        team_id: request.access.team_id!,
        before,
        after: asked.after ?? isoInstant(Date.parse(before) - default_ms),
        interval: asked.interval ?? 'hour',
        reason: asked.reason,
      });
    },
    shown: (row: Omit<IngestionWarningRow, 'outcome'>) => ({
      ...row,
      outcome: warning_reasons[row.reason],
    }),
  });
}
