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

/** The export that the path names, as it is on the wire; throws 404 without one. */
export async function getExport(
  request: FastifyRequest,
  db: Queryable,
  name: Name = 'id',
): Promise<BatchExport> {
  return (await findBatchExport(db, request.access, uuidParameter(request, name))) ?? missing();
}

/** Finds the creation time of the path's export; throws 404 without one. */
export async function getPresence(
  request: FastifyRequest,
  db: Queryable,
  name: Name = 'id',
): Promise<Pick<BatchExport, 'id' | 'created_at'>> {
  return (await findPresence(db, request.access, uuidParameter(request, name))) ?? missing();
}

/**
 * The export that the path names, locked for the transaction, and unchanged since the ETag in
 * `If-Match`; throws 404 and 412.
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

/** The export and the run that the path names, locked in this order; throws 404 without one. */
export async function getLockedRun(
  request: FastifyRequest,
  tx: Transaction,
): Promise<{ row: LockedExport; run: LockedRun }> {
  const id = uuidParameter(request, 'id');
  const row = await getLockedExport(request, tx, 'batch_export_id');
  return { row, run: (await lockRun(tx, row.id, id)) ?? missing() };
}
