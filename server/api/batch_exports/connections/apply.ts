import type { Engine } from '../../../engine/exports/engine.ts';
import { writeRunLog } from '../../../engine/model/run_log.ts';
import { ApiError, invalidMany } from '../../../platform/http/errors.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { checkContent } from '../body/query_check.ts';
import type { ConnectionCheck, UsedConnection } from '../body/used_connection.ts';
import { changeBatchExport } from '../patch.ts';
import { lockBatchExport } from '../store.ts';
import type { LockedExport } from '../store.ts';
import { renamed } from './input.ts';
import { listUsingExports } from './store.ts';

/**
 * Applies a changed connection to every export that uses it, as a PATCH of each would. Their next
 * attempts use it. The caller holds the lock of the connection, which precedes the locks of
 * exports. Throws 400 if one of them cannot work with it.
 */
export async function applyToExports(
  engine: Engine,
  tx: Transaction,
  organization_id: string,
  used: UsedConnection,
): Promise<void> {
  const now = await databaseInstant(tx);
  for (const id of await listUsingExports(tx, used.id)) {
    const row = await lockBatchExport(tx, { organization_id }, id);
    if (row?.connection_id !== used.id) continue;
    const connection = { organization_id, used, is_changed: true, violations: [] };
    await applyTo(engine, tx, row, { used, connection, now });
  }
}

async function applyTo(
  engine: Engine,
  tx: Transaction,
  row: LockedExport,
  { used, connection, now }: { used: UsedConnection; connection: ConnectionCheck; now: number },
): Promise<void> {
  const query = await checkContent(engine, {}, row);
  try {
    await changeBatchExport(engine, tx, {
      row,
      raw: {},
      how: 'patch',
      query,
      connection,
      now,
      soon: () => undefined,
    });
  } catch (error) {
    throw error instanceof ApiError && error.status === 400 ? refusedBy(row, error) : error;
  }
  const message =
    `Its connection ${JSON.stringify(used.name)} was changed: the next attempt of each run ` +
    'uses it.';
  await writeRunLog(tx, { batch_export_id: row.id, run_id: null, level: 'INFO', message });
}

function refusedBy({ name }: LockedExport, { violations }: ApiError): ApiError {
  return invalidMany(
    renamed(violations).map((one) => ({
      ...one,
      detail:
        `The export ${JSON.stringify(name)} uses this connection and cannot work with the ` +
        `change: ${one.detail}`,
    })),
  );
}
