import type { FastifyRequest } from 'fastify';
import { integerParameter } from '../../platform/http/caller/access.ts';
import { missing } from '../../platform/http/errors.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { findVisiblePlugin, requirePluginsLevel } from '../plugins/store.ts';
import type { PluginConfigRow } from './schema.ts';
import { findPluginConfig, findStoredConfig } from './store.ts';

/**
 * Returns the config of the path, or the one with the id, in the path's project. Throws 403 and
 * 404.
 */
export async function getConfig(
  db: Queryable,
  request: FastifyRequest,
  id = integerParameter(request),
): Promise<PluginConfigRow> {
  await requirePluginsLevel(db, request.access, 3);
  return (await findPluginConfig(db, request.access.team_id!, id)) ?? missing();
}

/**
 * Locks and returns the config of the path; nobody can change it or its plugin until the
 * transaction ends. The plugin is locked first, as everywhere.
 */
export async function getLockedConfig(
  tx: Transaction,
  request: FastifyRequest,
): Promise<PluginConfigRow> {
  const { id, plugin } = await getConfig(tx, request);
  if ((await findVisiblePlugin(tx, request.access.organization_id, plugin, 'share')) === undefined)
    missing();
  if ((await findStoredConfig(tx, id, 'lock')) === undefined) missing();
  return getConfig(tx, request);
}
