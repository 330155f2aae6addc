import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { commitRoutes } from './commits.ts';
import { configRoute } from './config.ts';
import { namespaceRoutes } from './namespaces.ts';
import { tellRefusal } from './refusal.ts';
import { signingRoute } from './signing.ts';
import { tableRoutes } from './tables.ts';
import { tokenRoute } from './tokens.ts';

/** Routes of `/iceberg/v1/`: the projects' tables as an Iceberg REST catalog. */
export function icebergRoutes(app: FastifyInstance, deps: Deps): void {
  // A Fastify instance of its own, because errors have another form.
  void app.register(async (instance) => {
    instance.setErrorHandler((error, request, reply) => tellRefusal(deps, error, request, reply));
    configRoute(instance, deps);
    tokenRoute(instance, deps);
    namespaceRoutes(instance, deps);
    tableRoutes(instance, deps);
    commitRoutes(instance, deps);
    signingRoute(instance, deps);
  });
}
