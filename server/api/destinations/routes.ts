import type { FastifyInstance } from 'fastify';
import { destinations } from '../../engine/destinations/index.ts';
import { notFound } from '../../platform/http/errors.ts';
import { describeDestination } from './describe.ts';
import { DestinationType, DestinationTypes } from './schema.ts';

const reading = { scope: 'batch_export:read' } as const;

/** Registers the routes of destination types, each with the schema of its config. */
export function destinationRoutes(app: FastifyInstance): void {
  const described = destinations.map(describeDestination);
  app.get(
    '/api/destinations/',
    {
      config: reading,
      schema: {
        summary: 'List the destination types with the schemas of their configs',
        description: 'All of them, in the order in which people look for them.',
        response: { 200: DestinationTypes },
      },
    },
    () => ({ count: described.length, results: described }),
  );

  app.get(
    '/api/destinations/:id/',
    {
      config: reading,
      schema: {
        summary: 'Retrieve a destination type; its id is its `type`',
        response: { 200: DestinationType },
      },
    },
    (request) => {
      const { id } = request.params as { id: string };
      const found = described.find(({ type }) => type === id);
      if (found === undefined) throw notFound();
      return found;
    },
  );
}
