import type { FastifyRequest } from 'fastify';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { missing } from '../../platform/http/errors.ts';
import { ifMatch, showsMatch } from '../../platform/http/etag.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { lockRun } from './runs/store.ts';
import type { LockedRun } from './runs/store.ts';
import type { BatchExport } from './schema.ts';
import { findBatchExport, findPresence, lockBatchExport } from './store.ts';
import type { LockedExport } from './store.ts';

type Name = 'id' | 'batch_export_id';

/** Returns the export of the path in its wire form; throws 404 if it does not exist. */
export async function getExport(
  request: FastifyRequest,
  db: Queryable,
  name: Name = 'id',
): Promise<BatchExport> {
  return (await findBatchExport(db, request.access, uuidParameter(request, name))) ?? missing();
}

/** Returns the creation time of the path's export; throws 404 if it does not exist. */
export async function getPresence(
  request: FastifyRequest,
  db: Queryable,
  name: Name = 'id',
): Promise<Pick<BatchExport, 'id' | 'created_at'>> {
  return (await findPresence(db, request.access, uuidParameter(request, name))) ?? missing();
}

/**
 * Locks and returns the export of the path for the transaction; throws 404 if it does not exist,
 * and 412 if it has changed since the ETag in `If-Match`.
 */
export async function getLockedExport(
  request: FastifyRequest,
  tx: Transaction,
  name: Name = 'id',
): Promise<LockedExport> {
  const row =
    (await lockBatchExport(tx, request.access, uuidParameter(request, name))) ?? missing();
  if (name === 'id' && showsMatch(request)) ifMatch(request, await getExport(request, tx, name));
  return row;
}

/**
 * Locks and returns the export and the run of the path, in this order; throws 404 if one does not
 * exist.
 */
export async function getLockedRun(
  request: FastifyRequest,
  tx: Transaction,
): Promise<{ row: LockedExport; run: LockedRun }> {
  const id = uuidParameter(request, 'id');
  const row = await getLockedExport(request, tx, 'batch_export_id');
  return { row, run: (await lockRun(tx, row.id, id)) ?? missing() };
}
