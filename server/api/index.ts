import type { FastifyInstance } from 'fastify';
import type { Deps } from '../deps.ts';
import { batchExportRoutes } from './batch_exports/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { organizationRoutes } from './organizations/routes.ts';
import { projectRoutes } from './projects/routes.ts';

/** Everything that the API has, one line each. */
export const slices: ((app: FastifyInstance, deps: Deps) => void)[] = [organizationRoutes, projectRoutes, batchExportRoutes, eventRoutes];
