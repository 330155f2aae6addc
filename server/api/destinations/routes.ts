import { isAbsolute, relative } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { file } from '../../engine/destinations/file/file.ts';
import { destinations } from '../../engine/destinations/index.ts';
import { missingPackage } from '../../engine/model/destination/optional_package.ts';
import type { OptionalPackage } from '../../engine/model/destination/optional_package.ts';
import { notFound } from '../../platform/http/errors.ts';
import { addRoute } from '../../platform/http/records.ts';
import { describeDestination } from './describe.ts';
import { DestinationType, DestinationTypes } from './schema.ts';

const reading = { scope: 'batch_export:read' } as const;

/** Routes of destination types, each with the schema of its config. */
export function destinationRoutes(app: FastifyInstance, { config }: Pick<Deps, 'config'>): void {
  const described = destinations.map((definition) => ({
    ...describeDestination(definition),
    ...(definition.type === file.type ? { folder: shownFolder(config.export_dir) } : {}),
  }));
  const shown = () =>
    described.map((one, index) => ({ ...one, ...lackOf(destinations[index]!.package) }));
  addRoute(app, {
    url: '/api/destinations/',
    config: reading,
    summary: 'List the destination types with the schemas of their configs',
    description: 'All types, in the order in which a form shows them.',
    response: { 200: DestinationTypes },
    handler: () => ({ count: described.length, results: shown() }),
  });

  addRoute(app, {
    url: '/api/destinations/:id/',
    config: reading,
    summary: 'Retrieve a destination type; its id is its `type`',
    response: { 200: DestinationType },
    handler: (request) => {
      const { id } = request.params as { id: string };
      const found = shown().find(({ type }) => type === id);
      if (found === undefined) throw notFound();
      return found;
    },
  });
}

/** Returns the package that the operator has to install, if it is missing. */
function lackOf(name: OptionalPackage | undefined): Pick<DestinationType, 'missing_package'> {
  const missing_package = name && missingPackage(name);
  return missing_package === undefined ? {} : { missing_package };
}

/** Returns the folder as commands name it in the server's start directory. */
function shownFolder(path: string): string {
  const below = relative(process.cwd(), path);
  return below === '' || below.startsWith('..') || isAbsolute(below) ? path : below;
}
