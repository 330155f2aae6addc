import { Temporal } from 'temporal-polyfill';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { invalid } from '../../../platform/http/errors.ts';
import { inReadTurn, ownerOf } from '../../../platform/http/limits/owner_turns.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { getPresence } from '../found.ts';
import { BatchExportMetrics, MetricsQuery } from './schema.ts';
import { listMetricPoints } from './store.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { refuseEmptyRange } from '../range.ts';

const default_days = 30;
const day_ms = 24 * 3_600_000;
const points_max = 1_000;

/** Route `metrics/` of an export: rows, bytes, durations and lag over time. */
export function metricsRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const schema = {
    summary: 'Rows, bytes, durations and lag of the runs of a batch export over time',
    description:
      `At most ${points_max} points; a range with more is refused (400): ask for a shorter one, ` +
      `or for \`interval=hour\` or \`day\`.`,
    querystring: MetricsQuery,
    response: { 200: BatchExportMetrics },
  };
  app.get(
    `${base}:id/metrics/`,
    { config: { scope: 'batch_export:read', within }, schema },
    async (request) => {
      const { id } = await getPresence(request, engine.db);
      const wanted = metricsWanted(request, engine.clock.now());
      const results = await inReadTurn(ownerOf(request), () =>
        listMetricPoints(engine.db, id, { ...wanted, limit: points_max + 1 }),
      );
      if (results.length > points_max) throw tooManyPoints(wanted.interval);
      return { ...wanted, results };
    },
  );
}

function metricsWanted(request: FastifyRequest, now: number) {
  const asked = query(request, MetricsQuery);
  const before = asked.before ?? isoInstant(now);
  const after = asked.after ?? isoInstant(Date.parse(before) - default_days * day_ms);
  refuseEmptyRange(Date.parse(after), Date.parse(before));
  const { interval = 'run' as const, by = 'created_at' as const } = asked;
  return { after: wire(after), before: wire(before), interval, by };
}

/** Returns the instant as answers spell it, cut after six digits. */
function wire(text: string): string {
  return Temporal.Instant.from(text).toString({ fractionalSecondDigits: 6 });
}

function tooManyPoints(interval: string) {
  const longer =
    { run: ', or points of an hour (interval=hour)', hour: ', or points of a day (interval=day)' }[
      interval
    ] ?? '';
  return invalid(
    'after',
    'max_items',
    `This range has more than ${points_max} points: ask for a shorter one${longer}.`,
  );
}
