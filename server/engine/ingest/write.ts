import { randomUUID } from 'node:crypto';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Logger } from '../../platform/log.ts';
import type { Database, Transaction } from '../../platform/postgres/database.ts';
import { insertBatch } from './insert.ts';
import type { IngestionTable } from './insert.ts';
import { storeInstant } from './parse/instant.ts';
import { clearBatch, findNote, noteBatch } from './lock.ts';
import type { Person } from './persons/person.ts';
import type { BatchRows } from './rows.ts';

type WriteDeps = { db: Database; clickhouse: ClickHouse; log: Logger; seconds_max: number };

/**
 * A batch to write. `last_inserted_at` belongs to the previous batch, according to the state that
 * the rows depend on; `epoch` also comes from that state.
 */
type Batch = {
  team_id: number;
  epoch: number;
  inserted_at: string;
  last_inserted_at: string | null;
  rows: BatchRows;
};

/**
 * Writes the rows under the lock that `tx` holds, and returns the written versions of persons.
 * `unavailable` if some may not be stored, or if the lock was lost meanwhile. Rows may then still
 * appear of the batch that `ingestion_states` records as in progress. Rethrows the control store's
 * errors.
 */
export async function writeRows(
  deps: WriteDeps,
  tx: Transaction,
  batch: Batch,
): Promise<'unavailable' | 'project_gone' | (Person & { distinct_id: string })[]> {
  const { team_id, epoch, inserted_at, last_inserted_at } = batch;
  const batch_id = randomUUID();
  const at = storeInstant(Date.parse(inserted_at));
  const persons = batch.rows.persons.map((person) => ({
    ...person,
    created_at: person.created_at ?? at,
  }));
  // Read before the batch is recorded, so that nothing is sent after the recorded instant.
  const ends_at = performance.now() + deps.seconds_max * 1_000;
  const note = {
    team_id,
    epoch,
    batch_id,
    inserted_at,
    last_inserted_at,
    writes_persons: persons.length > 0,
    seconds_max: deps.seconds_max,
  };
  const noted = await noteBatch(deps.db, note);
  if (noted === 'project_gone') return noted;
  if (noted === 'refused') {
    deps.log.warn({ team_id }, 'a batch was abandoned: its lock was lost before the write');
    return 'unavailable';
  }
  // Persons first: an event must never be there before the version of its person.
  for (const [table, rows, stamp] of [
    ['persons', persons, { inserted_at: at }],
    ['events', batch.rows.events, { created_at: at, inserted_at: at }],
  ] satisfies [IngestionTable, object[], object][]) {
    if (rows.length === 0) continue;
    // Through the transaction: a writer that lost the lock must not send, because others may have
    // ended the batch.
    const still = await findNote(tx, team_id, batch_id);
    if (still !== 'noted') return still === 'refused' ? 'unavailable' : still;
    const { outcome, error } = await insertBatch<object>(deps.clickhouse, {
      table,
      batch_id,
      team_id,
      inserted_at: at,
      rows,
      stamp,
      ends_at,
    });
    if (error !== undefined)
      deps.log.warn({ err: error, team_id, table, outcome }, 'an insert failed');
    if (outcome === 'stored') continue;
    // If the persons exist already, the code that ends the batch removes them.
    if (outcome === 'absent' && (table === 'persons' || persons.length === 0))
      await clearBatch(tx, team_id, batch_id);
    return 'unavailable';
  }
  await clearBatch(tx, team_id, batch_id);
  return persons;
}
