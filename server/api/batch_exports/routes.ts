import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { actionRoutes } from './action_routes.ts';
import { backfillRoutes } from './backfills/routes.ts';
import { awsRoleRoute } from './aws_role/routes.ts';
import { deviationRoutes } from './deviations/routes.ts';
import { statementRoute } from './deviations/statement_route.ts';
import { connectionRoutes } from './connections/routes.ts';
import { bulkActionRoutes } from './bulk_actions/routes.ts';
import { draftRoutes } from './drafts/routes.ts';
import { findRoutes } from './find/routes.ts';
import { exportRoutes } from './export_routes.ts';
import { logRoutes } from './logs/routes.ts';
import { maintenanceRoutes } from './maintenance/routes.ts';
import { metricsRoutes } from './metrics/routes.ts';
import { overviewRoutes } from './overview/routes.ts';
import { proofRoutes } from './proof/routes.ts';
import { receiptsRoute } from './receipts/routes.ts';
import { runActionRoutes } from './runs/action_routes.ts';
import { runRoutes } from './runs/routes.ts';
import { secretKeysRoute } from './secret_keys/routes.ts';
import { slotRoutes } from './slots/routes.ts';
import { timelineRoutes } from './timeline/routes.ts';
import { verificationRoutes } from './verifications/routes.ts';
import { mountsOf } from '../../platform/http/caller/mount.ts';

/**
 * Routes of batch exports with their runs, backfills and logs, under organizations and projects.
 */
export function batchExportRoutes(app: FastifyInstance, deps: Deps): void {
  const { engine } = deps;
  findRoutes(app, engine);
  awsRoleRoute(app, engine);
  connectionRoutes(app, engine);
  for (const mount of mountsOf('batch_exports')) {
    exportRoutes(app, engine, mount);
    secretKeysRoute(app, engine, mount);
    draftRoutes(app, engine, mount);
    actionRoutes(app, mount);
    logRoutes(app, engine, mount);
    maintenanceRoutes(app, engine, mount);
    metricsRoutes(app, engine, mount);
    slotRoutes(app, engine, mount);
    timelineRoutes(app, engine, mount);
    backfillRoutes(app, engine, mount);
    runRoutes(app, engine, mount);
    runActionRoutes(app, mount);
    bulkActionRoutes(app, engine, mount);
    proofRoutes(app, engine, mount);
    receiptsRoute(app, engine, mount);
    verificationRoutes(app, engine, mount);
    deviationRoutes(app, engine, mount);
    statementRoute(app, engine, mount);
    overviewRoutes(app, engine, mount);
  }
}
