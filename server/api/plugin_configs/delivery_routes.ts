import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { getConfig } from './found.ts';
import { PluginDelivery, SetAsideEvent } from './schema.ts';
import type { SetAsideRow } from './schema.ts';
import { findDelivery, listSetAside } from './store.ts';

const one = '/api/projects/:project_id/plugin_configs/:id/';
const reading = { within: 'project', scope: 'plugin:read' } as const;

/** Registers the routes of a delivery: how far it is, and what was set aside. */
export function deliveryRoutes(app: FastifyInstance, { db }: Deps): void {
  app.get(
    `${one}delivery/`,
    {
      config: reading,
      schema: {
        summary: 'Retrieve how far a plugin has delivered the events of the project',
        description: 'All fields are null for a config that was never enabled.',
        response: { 200: PluginDelivery },
      },
    },
    async (request) => {
      const { id } = await getConfig(db, request);
      return findDelivery(db, id);
    },
  );

  app.get(
    `${one}set_aside/`,
    {
      config: reading,
      schema: {
        summary: 'List the events that a tool did not take, newest first',
        description:
          'A tool is a destination of the catalogue whose mappings decide what it gets. An event ' +
          'that it refuses does not stop the others: it is set aside, once for each mapping. The ' +
          'job `Resend` sends these events again, all of them or one.',
        querystring: PageQuery,
        response: { 200: pageOf(SetAsideEvent) },
      },
    },
    async (request) => {
      const { id } = await getConfig(db, request);
      return answerPage<SetAsideRow>(request, db, listSetAside(id));
    },
  );
}
