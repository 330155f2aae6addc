import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { lookAhead } from '../../engine/privacy/retention/look.ts';
import type { Outlook } from '../../engine/privacy/retention/look.ts';
import { isoInstant } from '../../platform/clock.ts';
import { notFound, unavailable } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { query } from '../../platform/http/lists/query.ts';
import { addRoute } from '../../platform/http/records.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { findProject } from '../projects/store.ts';
import { Retention, RetentionQuery } from './schema.ts';
import type { RetentionAnswer } from './schema.ts';
import { listRetentionRemovals } from './store.ts';

/** Time for which the answer waits for the count. */
const counting_ms_max = 30_000;
const nothing = { rows: 0, oldest: null, newest: null };

/**
 * Route `/api/projects/:project_id/retention/`: rows that retention would remove, and its removals.
 */
export function retentionRoutes(app: FastifyInstance, { engine }: Deps): void {
  addRoute(app, {
    url: '/api/projects/:project_id/retention/',
    config: { scope: 'project:read', within: 'project' },
    summary: 'Show which rows of a project retention would remove now, and which it removed',
    description:
      '`retention` and `retention_days` replace the stored setting. Sluice counts the ' +
      'current rows. A removal starts at least an hour after a change of the project.',
    querystring: RetentionQuery,
    response: { 200: Retention },
    handler: async (request): Promise<RetentionAnswer> => {
      const team_id = request.access.team_id!;
      const project = await findProject(engine.db, team_id);
      if (project === undefined) throw notFound();
      const asked = query(request, RetentionQuery);
      const setting = {
        retention: asked.retention ?? project.retention,
        retention_days: asked.retention_days ?? project.retention_days,
      };
      const removals = await listRetentionRemovals(engine.db, team_id);
      if (setting.retention === 'forever')
        return {
          ...setting,
          removes_before: null,
          events: nothing,
          persons: nothing,
          kept_by: [],
          removals,
        };
      const now = await databaseInstant(engine.db);
      const signal = AbortSignal.timeout(counting_ms_max);
      const outlook = await lookAhead(engine, team_id, setting, now, signal).catch(
        (error: unknown) => {
          throw signal.aborted ? tooLong() : error;
        },
      );
      return { ...setting, ...told(outlook), removals };
    },
  });
}

function tooLong(): ApiError {
  const detail = 'The rows are too many to count in one request: try again later.';
  return unavailable(detail, 60);
}

function told({ before, found, keepers }: Outlook) {
  return {
    removes_before: isoInstant(before),
    ...found,
    kept_by: keepers.map((keeper) => ({
      ...keeper,
      from: keeper.from === null ? null : isoInstant(keeper.from),
    })),
  };
}
