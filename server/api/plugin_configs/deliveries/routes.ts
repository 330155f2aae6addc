import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { row_tables } from '../../../engine/model/removals/delete_rows.ts';
import { listTraced, placeOf } from '../../../engine/plugins/trace/read_trace.ts';
import { caughtUpForAnswer } from '../../../platform/clickhouse/topology/caught_up.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { invalid } from '../../../platform/http/errors.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { addRoute } from '../../../platform/http/records.ts';
import { getConfig } from '../found.ts';
import { replayRoutes } from './replay_routes.ts';
import {
  DeliveryMetrics,
  DeliveryMetricsQuery,
  PluginDelivery,
  PluginSends,
  SendsQuery,
} from './schema.ts';
import { setAsideRoutes } from './set_aside_routes.ts';
import { findDelivery, listPoints } from './store.ts';

const one = '/api/projects/:project_id/plugin_configs/:id/';
const reading = { within: 'project', scope: 'plugin:read' } as const;
const day_ms = 24 * 3_600_000;
const points_max = 1_000;

/**
 * Routes of a delivery: its progress and charts, the attempts at an event, events that were set
 * aside, and replays.
 */
export function deliveryRoutes(app: FastifyInstance, deps: Deps): void {
  const { db } = deps;
  addRoute(app, {
    url: `${one}delivery/`,
    config: reading,
    summary: 'Retrieve the delivery progress of a plugin',
    description: 'All fields are null for a config that was never enabled.',
    response: { 200: PluginDelivery },
    handler: async (request) => {
      const { id } = await getConfig(db, request);
      return findDelivery(db, id);
    },
  });
  metricsRoute(app, deps);
  sendsRoute(app, deps);
  setAsideRoutes(app, deps);
  replayRoutes(app, deps);
}

function metricsRoute(app: FastifyInstance, { db, clock }: Deps): void {
  addRoute(app, {
    url: `${one}delivery/metrics/`,
    config: reading,
    summary: 'Events, retries and delays of a tool over time',
    description:
      `At most ${points_max} points; a range with more is refused (400). Points are kept for ` +
      '90 days. Destinations have them, other plugins have none.',
    querystring: DeliveryMetricsQuery,
    response: { 200: DeliveryMetrics },
    handler: async (request) => {
      const { id } = await getConfig(db, request);
      const wanted = pointsWanted(request, clock.now());
      const results = await listPoints(db, id, wanted, points_max + 1);
      if (results.length <= points_max) return { ...wanted, results };
      throw invalid(
        'after',
        'max_items',
        `This range has more than ${points_max} points: ask for a shorter one, or for a longer ` +
          '`interval`.',
      );
    },
  });
}

function pointsWanted(request: FastifyRequest, now: number) {
  const asked = query(request, DeliveryMetricsQuery);
  const before = asked.before === undefined ? now : Date.parse(asked.before);
  const after = asked.after === undefined ? before - day_ms : Date.parse(asked.after);
  if (after >= before)
    throw invalid(
      'after',
      'invalid_input',
      'The start must be before the end, which is now by default.',
    );
  const { interval = 'point' as const } = asked;
  return { after: isoInstant(after), before: isoInstant(before), interval };
}

function sendsRoute(app: FastifyInstance, { db, clickhouse }: Deps): void {
  addRoute(app, {
    url: `${one}sends/`,
    config: { ...reading, no_store: true },
    summary: 'List the attempts of a tool at an event, with requests and answers',
    description:
      'Kept for as long as the event. Secrets of the settings, and headers and parameters ' +
      'with names such as `authorization`, are `********`.',
    querystring: SendsQuery,
    response: { 200: PluginSends },
    handler: async (request) => {
      const { id, team_id } = await getConfig(db, request);
      const uuid = query(request, SendsQuery).event_uuid.toLowerCase();
      return caughtUpForAnswer(clickhouse, row_tables, async () => {
        const inserted_us = await placeOf(clickhouse, team_id, uuid);
        if (inserted_us === undefined) return { is_stored: false, results: [] };
        const config = { team_id, config_id: id };
        const results = await listTraced(clickhouse, config, { uuid, inserted_us });
        return { is_stored: true, results };
      });
    },
  });
}
