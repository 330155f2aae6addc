import type { FastifyRequest } from 'fastify';
import sql, { join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { answerPage } from '../../../platform/http/lists/pagination.ts';
import { query } from '../../../platform/http/lists/query.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { choicesAsked } from '../body/choices.ts';
import { LogQuery, log_levels } from './schema.ts';
import type { LogEntry } from './schema.ts';

const default_limit = 50;

/**
 * Returns a page of the log of an export, or of one of its runs, newest first. Throws 400 for an
 * invalid parameter.
 */
export async function answerLogs(
  request: FastifyRequest,
  db: Queryable,
  exportId: string,
  runId?: string,
) {
  const asked = query(request, LogQuery);
  const page = { limit: asked.limit ?? default_limit, offset: asked.offset ?? 0 };
  const { after, before, search } = asked;
  const levels = choicesAsked(request, 'level', log_levels);
  // Only the requested conditions are in the statement, so that an index alone can count the lines.
  const conditions = [
    ofSource(exportId, runId),
    ...(after === undefined ? [] : [sql`l."timestamp" > ${after}::timestamptz`]),
    ...(before === undefined ? [] : [sql`l."timestamp" < ${before}::timestamptz`]),
    ...(levels === undefined ? [] : [sql`l.level = ANY (${levels}::text[])`]),
    ...(levels?.every((one) => one === 'WARNING' || one === 'ERROR') === true
      ? // For batch_export_logs_not_well, whose condition it is.
        [sql`l.level IN ('WARNING', 'ERROR')`]
      : []),
    ...(search === undefined ? [] : [sql`l.message ILIKE ${patternOf(search)}`]),
  ];
  const matching = sql`FROM batch_export_logs l WHERE ${join(conditions, ' AND ')}`;
  // The order of batch_export_logs_by_export; a single run has few lines.
  return answerPage<LogEntry>(
    request,
    db,
    {
      rows: ({ limit, offset }) =>
        sql`SELECT l."timestamp", l.level, l.message, l.run_id AS run ${matching}
          ORDER BY l."timestamp" DESC, l.id DESC LIMIT ${limit} OFFSET ${offset}`,
      count: sql`SELECT count(*) AS count ${matching}`,
    },
    page,
  );
}

function ofSource(exportId: string, runId: string | undefined): Sql {
  return runId === undefined
    ? sql`l.batch_export_id = ${exportId}`
    : sql`l.run_id = ${runId} AND l.batch_export_id = ${exportId}`;
}

/**
 * Returns a LIKE pattern that finds exactly this text anywhere, with its special characters
 * escaped.
 */
export function patternOf(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
}
