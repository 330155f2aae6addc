import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { conflict } from '../../../platform/http/errors.ts';
import { addRoute, addWrite } from '../../../platform/http/records.ts';
import { getPresence } from '../found.ts';
import { ExportMaintenance } from './schema.ts';
import { getExportMaintenance, maintainExportNow } from './store.ts';

/** Routes `maintenance/` and `maintain/` of an export: Sluice's maintenance of its table. */
export function maintenanceRoutes(
  app: FastifyInstance,
  engine: Engine,
  { base, within }: Mount,
): void {
  addRoute(app, {
    url: `${base}:id/maintenance/`,
    config: { scope: 'batch_export:read', within },
    summary: 'Retrieve the maintenance of the Delta table of an export',
    description:
      'Sluice merges small files and removes old ones (docs/lake_maintenance.md). The ' +
      'maintenance of tables in the Iceberg catalog is at `lake_tables/`.',
    response: { 200: ExportMaintenance },
    handler: async (request) => {
      const { id } = await getPresence(request, engine.db);
      return getExportMaintenance(engine.db, id);
    },
  });
  addWrite(app, {
    url: `${base}:id/maintain/`,
    config: { scope: 'batch_export:write', within },
    summary: 'Maintain the Delta table of an export now',
    description:
      'The next round begins within a minute. It merges small files at once and removes unused ' +
      'files; `finished_at` tells when it has ended. 409 for other destinations.',
    response: { 202: ExportMaintenance },
    work: async ({ request, tx, record }) => {
      const { id } = await getPresence(request, tx);
      if ((await getExportMaintenance(tx, id)).due_at === null)
        throw conflict('Only exports to Delta maintain their table here.');
      await maintainExportNow(tx, id);
      record('nothing');
      return getExportMaintenance(tx, id);
    },
  });
}
