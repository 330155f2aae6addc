import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { invalid } from '../../platform/http/errors.ts';
import { query } from '../../platform/http/lists/query.ts';
import { addRoute } from '../../platform/http/records.ts';
import { EventCounts, EventCountsQuery } from './schema.ts';
import { countEvents } from './store.ts';

const default_ms = 24 * 3_600_000;
const points_max = 1_000;
const counts_max = 100_000;
/** Lengths of a minute, an hour and a day in milliseconds. */
const lengths_ms = { minute: 60_000, hour: 3_600_000, day: 24 * 3_600_000 };

/** Route `/api/projects/:project_id/events/counts/`: the number of stored events over time. */
export function countsRoute(app: FastifyInstance, { clickhouse, clock }: Deps): void {
  addRoute(app, {
    url: '/api/projects/:project_id/events/counts/',
    config: { scope: 'batch_export:read', within: 'project' },
    summary: 'Count stored events over time',
    description:
      'By the minute, hour or day in which they were stored, or happened. 400 for a ' +
      `range of more than ${points_max} of these, or for more than ${counts_max} counts.`,
    querystring: EventCountsQuery,
    response: { 200: EventCounts },
    handler: async (request) => {
      const { by = 'inserted_at' as const, by_event = false } = query(request, EventCountsQuery);
      const wanted = countsWanted(request, clock.now());
      const results = await countEvents(
        clickhouse,
        request.access.team_id!,
        { ...wanted, by, by_event },
        counts_max + 1,
      );
      if (results.length > counts_max)
        throw invalid(
          'by_event',
          'max_items',
          `There are more than ${counts_max} counts: ask for a shorter range.`,
        );
      return { ...wanted, results };
    },
  });
}

function countsWanted(request: FastifyRequest, now: number) {
  const asked = query(request, EventCountsQuery);
  const { interval = 'hour' as const } = asked;
  const end = asked.before === undefined ? now : Date.parse(asked.before);
  const start = asked.after === undefined ? end - default_ms : Date.parse(asked.after);
  if (start >= end)
    throw invalid(
      'after',
      'invalid_input',
      'The start must be before the end, which is now by default.',
    );
  if ((end - start) / lengths_ms[interval] > points_max)
    throw invalid(
      'after',
      'max_items',
      `This range has more than ${points_max} points: ask for a shorter one, or longer points.`,
    );
  return { after: isoInstant(start), before: isoInstant(end), interval };
}
