import type { FastifyRequest } from 'fastify';
import { forbidden, notFound } from '../../platform/http/errors.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { pluginsLevelFault } from '../plugins/schema.ts';
import { findPluginsLevel, findVisiblePlugin } from '../plugins/store.ts';
import type { PluginConfigRow } from './schema.ts';
import { findPluginConfig, findStoredConfig } from './store.ts';

const id_max = 2_147_483_647;

/** Throws 403 when the organization of the project may not use plugins. */
export async function requireLevel(db: Queryable, request: FastifyRequest): Promise<void> {
  const level = (await findPluginsLevel(db, request.access.organization_id)) ?? missing();
  const fault = pluginsLevelFault(level, 3);
  if (fault !== undefined) throw forbidden(fault);
}

/**
 * The config that the path names, or the one with the id, in the project of the path. Throws 403
 * and 404.
 */
export async function getConfig(
  db: Queryable,
  request: FastifyRequest,
  id = idOf(request),
): Promise<PluginConfigRow> {
  await requireLevel(db, request);
  return (await findPluginConfig(db, request.access.team_id!, id)) ?? missing();
}

/**
 * The config that the path names; nobody changes it, or its plugin, until the transaction ends. The
 * plugin comes first, as everywhere.
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

function idOf(request: FastifyRequest): number {
  const { id = '' } = request.params as { id?: string };
  return /^[1-9]\d{0,9}$/.test(id) && Number(id) <= id_max ? Number(id) : missing();
}

function missing(): never {
  throw notFound();
}
