// ClickHouse has no transactions: EXCHANGE TABLES is the one statement that shows a generation. The
// comment of the table moves with it, so the table itself names its generation. The older of two
// runs never comes last: each first creates its next table, then removes those of older
// generations, then looks for newer ones, and finally exchanges. The older run sees the other's
// table or generation, or no longer has a table to exchange.
import { createHash, randomUUID } from 'node:crypto';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import { literal } from '../formats/expression.ts';
import { isGeneration, openReplacing, supersededError } from '../sql_tables/generations.ts';
import { requireMoved } from '../sql_tables/staged_sink.ts';
import { stageLost } from '../sql_tables/stages.ts';
import { inDatabase } from './config.ts';
import type { Connection } from './connection.ts';
import { clickHouseDialect } from './dialect.ts';
import type { Session } from './session.ts';
import { attach, countRows, sumOf } from './slices.ts';
import type { Partition } from './slices.ts';
import { findTable, listTables } from './table.ts';

const note = /Sluice: generation (\S+) of delivery ([0-9a-f-]{36})/;

function noteOf({ generation, delivery_id }: Delivery): string {
  return `Sluice: generation ${generation} of delivery ${delivery_id}`;
}

/** Returns the prefix of all tables that may replace the target. */
function prefixOf({ target }: Connection): string {
  const hash = createHash('md5').update(target.table).digest('hex');
  return `sluice_next_${hash.slice(0, 16)}_`;
}

/** Returns the part of such a name that grows with the generation, and that of the delivery. */
function namesOf({ generation, delivery_id }: Delivery): { generation: string; delivery: string } {
  const instant = String(Date.parse(generation!)).padStart(15, '0');
  return { generation: instant, delivery: delivery_id.replaceAll('-', '') };
}

/** Returns true if this very delivery has replaced the table's rows, and none since. */
export async function isStanding({ connection, delivery }: Session): Promise<boolean> {
  return (await findStanding(connection))?.delivery_id === delivery.delivery_id;
}

async function findStanding(
  connection: Connection,
): Promise<{ generation: string; delivery_id: string } | undefined> {
  const { database, table } = connection.target;
  const [found] = await connection.rows<{ comment: string }>(
    'SELECT comment FROM system.tables WHERE database = {database:String} AND name = ' +
      '{table:String}',
    { database, table },
  );
  const [, generation, delivery_id] = note.exec(found?.comment ?? '') ?? [];
  return generation === undefined || delivery_id === undefined
    ? undefined
    : { generation, delivery_id };
}

/**
 * Replaces the target by the rows of this attempt's stage, in one statement. Throws `superseded` if
 * the table has a later generation, `table_shared` if it contains rows of others, and `slice_lost`
 * if another attempt has claimed the delivery.
 */
export async function replaceTable(session: Session, partitions: Partition[]): Promise<void> {
  const { connection, delivery, stage } = session;
  await requireExchange(connection);
  await openReplacing(clickHouseDialect(connection), delivery).find();
  const { generation, delivery: id } = namesOf(delivery);
  const table = `${prefixOf(connection)}${generation}_${id}_${randomUUID().slice(0, 8)}`;
  const next = inDatabase(connection.config, table);
  const target = connection.target.quoted;
  await connection.command(`CREATE TABLE ${next} AS ${target}`);
  await connection.command(`ALTER TABLE ${next} MODIFY COMMENT ${literal(noteOf(delivery))}`);
  if ((await findTable(connection, stage.table)) === undefined) throw stageLost();
  await attach(connection, next, stage.table, partitions);
  requireMoved(sumOf(partitions), await countRows(connection, next));
  await requireLatest(connection, delivery, table);
  try {
    await connection.command(`EXCHANGE TABLES ${target} AND ${next}`);
  } catch (error) {
    if ((await findTable(connection, table)) === undefined) throw stageLost(error);
    throw error;
  }
}

/** Removes the next tables of older runs, then refuses if a newer one exists, or existed. */
async function requireLatest(
  connection: Connection,
  delivery: Delivery,
  own: string,
): Promise<void> {
  const prefix = prefixOf(connection);
  const { generation } = namesOf(delivery);
  for (const table of await listTables(connection, prefix)) {
    if (table === own) continue;
    if (table.slice(prefix.length).split('_')[0]! > generation)
      throw new RetryableError('conflict', 'A later run is about to replace the table.');
    await connection.command(`DROP TABLE IF EXISTS ${inDatabase(connection.config, table)} SYNC`);
  }
  // Read after the list: a newer table in the list may be the target by now.
  const standing = await findStanding(connection);
  if (standing !== undefined && standing.generation > delivery.generation!) throw supersededError();
}

/** Removes the receipts of deliveries whose rows are no longer in the table. */
export async function removeReplaced({ connection, delivery }: Session): Promise<void> {
  const { receipts, name } = connection.target;
  const { batch_export_id, delivery_id } = delivery;
  const others =
    'WHERE table_name = {name:String} AND batch_export_id = {batch_export_id:UUID} AND ' +
    'delivery_id != {delivery_id:UUID}';
  const parameters = { name, batch_export_id, delivery_id };
  const [found] = await connection.rows(`SELECT 1 FROM ${receipts} ${others} LIMIT 1`, parameters);
  if (found !== undefined)
    await connection.command(
      `ALTER TABLE ${receipts} DELETE ${others} SETTINGS mutations_sync = 2`,
      parameters,
    );
}

/** Removes leftovers of the delivery's attempts: replaced rows, or waiting rows. */
export async function dropNext({ connection, delivery }: Session): Promise<void> {
  if (!isGeneration(delivery)) return;
  const id = namesOf(delivery).delivery;
  for (const table of await listTables(connection, prefixOf(connection)))
    if (table.includes(`_${id}_`))
      await connection.command(`DROP TABLE IF EXISTS ${inDatabase(connection.config, table)}`);
}

/** Refuses a table that cannot be exchanged on every replica. */
export async function requireExchange(connection: Connection): Promise<void> {
  const { database, name, table } = connection.target;
  const [found] = await connection.rows<{ engine: string }>(
    'SELECT engine FROM system.databases WHERE name = {database:String}',
    { database },
  );
  const engine = found?.engine ?? '';
  const own = (await findTable(connection, table))?.engine ?? '';
  const isEverywhere = ['Replicated', 'Shared'].includes(engine);
  if (isEverywhere || (engine === 'Atomic' && !own.startsWith('Replicated'))) return;
  throw new NonRetryableError(
    'table_unsuitable',
    `The table ${name} (engine ${own}, in a database of engine ${engine}) cannot be exchanged ` +
      'with another one in one step. Export to a table of MergeTree in a database of the engine ' +
      'Atomic or Replicated.',
  );
}
