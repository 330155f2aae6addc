import type { FastifyInstance } from 'fastify';
import sql from 'sql-template-tag';
import { secretKeysOf } from '../../../engine/model/destination/stored_config.ts';
import type { StoredConfig } from '../../../engine/model/destination/stored_config.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { missing } from '../../../platform/http/errors.ts';
import { addRoute } from '../../../platform/http/records.ts';
import { isInPlace } from '../place.ts';
import { StoredSecrets } from './schema.ts';

/**
 * Route `:id/secret_keys/`: the names are sealed together with the values, so no column has them.
 */
export function secretKeysRoute(app: FastifyInstance, engine: Engine, mount: Mount): void {
  const { base, within } = mount;
  addRoute(app, {
    url: `${base}:id/secret_keys/`,
    config: { scope: 'batch_export:read', within },
    summary: "List which secrets of a batch export's destination are stored",
    response: { 200: StoredSecrets },
    handler: async (request): Promise<StoredSecrets> => {
      const id = uuidParameter(request, 'id');
      const stored = await engine.db.row<StoredConfig>(sql`
        SELECT e.destination_config,
          CASE WHEN e.connection_id IS NULL THEN e.destination_secrets END AS destination_secrets
        FROM batch_exports e
        WHERE e.id = ${id} AND ${isInPlace(request.access)}`);
      return { secret_keys: secretKeysOf(engine.secrets, id, stored ?? missing()) };
    },
  });
}
