import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { answerPage } from '../../platform/http/lists/pagination.ts';
import { query } from '../../platform/http/lists/query.ts';
import { addRoute } from '../../platform/http/records.ts';
import {
  CatalogueEventQuery,
  CatalogueEvents,
  CatalogueProperties,
  CataloguePropertyQuery,
} from './schema.ts';
import type { CatalogueEvent, CatalogueProperty } from './schema.ts';
import { findProgress, listCatalogueEvents, listCatalogueProperties } from './store.ts';

const base = '/api/projects/:project_id/event_catalogue/';
const reading = { scope: 'batch_export:read', within: 'project' } as const;

/** Routes of `/api/projects/:project_id/event_catalogue/`: the ingested events and properties. */
export function eventCatalogueRoutes(app: FastifyInstance, deps: Deps): void {
  eventsRoute(app, deps);
  propertiesRoute(app, deps);
}

function eventsRoute(app: FastifyInstance, { db, clock }: Deps): void {
  addRoute(app, {
    url: base,
    config: reading,
    summary: 'List the ingested events, with their numbers and times',
    description:
      'Counts are exact, a few seconds behind ingestion. They count ingested events: ' +
      'erasures and retention do not lower them.',
    querystring: CatalogueEventQuery,
    response: { 200: CatalogueEvents },
    handler: async (request) => {
      const { limit: _limit, offset: _offset, ...asked } = query(request, CatalogueEventQuery);
      const team_id = request.access.team_id!;
      const today = isoInstant(clock.now()).slice(0, 10);
      const list = listCatalogueEvents({ ...asked, team_id, today });
      const { events: _events, ...progress } = await findProgress(db, { team_id });
      return { ...(await answerPage<CatalogueEvent>(request, db, list)), ...progress };
    },
  });
}

function propertiesRoute(app: FastifyInstance, { db }: Deps): void {
  addRoute(app, {
    url: `${base}properties/`,
    config: reading,
    summary: 'List the properties of an event or of all events, with their types',
    description: 'Types are JSON types, as sent. The catalogue stores no values of properties.',
    querystring: CataloguePropertyQuery,
    response: { 200: CatalogueProperties },
    handler: async (request) => {
      const { limit: _limit, offset: _offset, ...asked } = query(request, CataloguePropertyQuery);
      const team_id = request.access.team_id!;
      const { counted_until, is_counting, events } = await findProgress(db, {
        team_id,
        event: asked.event,
      });
      const list = listCatalogueProperties({ ...asked, team_id });
      const page = await answerPage<Omit<CatalogueProperty, 'share'>>(request, db, list);
      const results = page.results.map((row) => ({
        ...row,
        share: events === 0 ? 0 : Math.min(1, row.events / events),
      }));
      return { ...page, results, counted_until, is_counting, events };
    },
  });
}
