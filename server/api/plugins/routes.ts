import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { readCatalogue, withTools } from '../../engine/plugins/packages/catalogue.ts';
import { collections } from './collections.ts';
import { listRoutes } from './list_routes.ts';
import { packageRoutes } from './package_routes.ts';
import { recordRoutes } from './record_routes.ts';

/**
 * Routes of pipeline destinations, frontend apps and import apps: three collections of plugins with
 * the same operations. An invalid catalogue prevents the start.
 */
export function pluginRoutes(app: FastifyInstance, deps: Deps): void {
  const { plugin_catalogue } = deps.config;
  const listed = readCatalogue(plugin_catalogue);
  // A list of the operator replaces the catalogue.
  const catalogue = plugin_catalogue === undefined ? withTools(listed) : listed;
  for (const collection of collections) {
    listRoutes(app, deps, collection, catalogue);
    recordRoutes(app, deps, collection, catalogue);
    packageRoutes(app, deps, collection);
  }
}
