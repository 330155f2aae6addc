import type { FastifyRequest } from 'fastify';
import { integerParameter } from '../../platform/http/caller/access.ts';
import { forbidden, missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { Collection } from './collections.ts';
import type { PluginRow } from './schema.ts';
import { findHiddenPlugin, findPlugin, requirePluginsLevel } from './store.ts';
import type { HiddenPlugin, Place } from './store.ts';

/** Returns the place that the request reads. */
export function placeOf(request: FastifyRequest, collection: Collection): Place {
  return { organization_id: request.access.organization_id, collection: collection.name };
}

/** Returns the plugin of the path, for an organization that may use plugins. Throws 403 and 404. */
export async function getPlugin(
  db: Queryable,
  request: FastifyRequest,
  collection: Collection,
): Promise<PluginRow> {
  await requirePluginsLevel(db, request.access, 3);
  return getVisible(db, request, collection);
}

/**
 * Returns the plugin of the path, for an organization that may change it: its own, from level 6 on.
 * Throws 403 and 404.
 */
export async function getOwnPlugin(
  db: Queryable,
  request: FastifyRequest,
  collection: Collection,
): Promise<PluginRow> {
  await requirePluginsLevel(db, request.access, 6);
  const plugin = await getVisible(db, request, collection);
  if (plugin.organization_id === request.access.organization_id) return plugin;
  throw forbidden(
    `This plugin belongs to the organization ${plugin.organization_name}, which alone can ` +
      'change it.',
  );
}

/**
 * Like `getOwnPlugin`, with hidden fields; locked until the transaction ends, and unchanged since
 * the ETag in `If-Match`. Throws 403, 404 and 412.
 */
export async function lockOwnPlugin(
  tx: Transaction,
  request: FastifyRequest,
  collection: Collection,
): Promise<{ before: PluginRow; hidden: HiddenPlugin }> {
  const { id } = await getOwnPlugin(tx, request, collection);
  const hidden = (await findHiddenPlugin(tx, id, 'lock')) ?? missing();
  const before = await getVisible(tx, request, collection);
  ifMatch(request, before);
  return { before, hidden };
}

async function getVisible(
  db: Queryable,
  request: FastifyRequest,
  collection: Collection,
): Promise<PluginRow> {
  const id = integerParameter(request);
  return (await findPlugin(db, placeOf(request, collection), id)) ?? missing();
}
