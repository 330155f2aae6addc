import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RetryableError } from '../../destination.ts';
import type { Delivery, DestinationDeps, Manifest, Sink, Slice, SliceOutcome } from '../../destination.ts';
import { targetOf } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withMySqlErrors } from './faults.ts';
import { valueLists } from './rows.ts';
import { insertStatement, prepareTables, tableExists } from './table.ts';

/** One delivery in one transaction. `is_open` is true while the transaction is. */
type Session = { connection: Connection; config: MySqlConfig; delivery: Delivery; is_delivered: boolean; is_open: boolean };

const lock_seconds_max = 60;
/** Larger statements are not faster. */
const statement_bytes = 1_000_000;
/** For the statement around a row. */
const overhead_bytes = 64_000;

/**
 * Opens the delivery's session. The named lock keeps a dead worker's attempt and ours apart: only its holder writes, and who gets it later sees the receipt that the
 * earlier one committed.
 */
export async function openMySqlSink(config: MySqlConfig, delivery: Delivery, deps: DestinationDeps): Promise<Sink> {
  const session = await withMySqlErrors(() => openSession(config, delivery, deps));
  return {
    isCommitted: async () => session.is_delivered,
    recover: (outcomes) => withMySqlErrors(() => recover(session, outcomes)),
    write: (slice, bytes) => withMySqlErrors(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) => withMySqlErrors(() => commit(session, outcomes, manifest)),
    abort: () => withMySqlErrors(() => rollBack(session)),
    close: () => session.connection.close(),
  };
}

async function openSession(config: MySqlConfig, delivery: Delivery, deps: DestinationDeps): Promise<Session> {
  const connection = await connect(config, deps);
  try {
    const [lock] = await connection.rows<{ is_ours: number | null }>('SELECT GET_LOCK(?, ?) AS is_ours', [`sluice ${delivery.delivery_id}`, lock_seconds_max]);
    if (lock?.is_ours !== 1) throw new RetryableError('locked', 'Another worker holds this delivery for more than a minute.');
    const is_delivered = (await tableExists(connection, config, 'sluice_receipts')) && (await hasReceipt(connection, config, delivery));
    return { connection, config, delivery, is_delivered, is_open: false };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function hasReceipt(connection: Connection, config: MySqlConfig, delivery: Delivery): Promise<boolean> {
  const found = await connection.rows(`SELECT 1 FROM ${targetOf(config).receipts} WHERE delivery_id = ?`, [delivery.delivery_id]);
  return found.length > 0;
}

/** Nothing of a broken transaction is left. The tables are made and checked here, before the engine opens the query that would wait for them. */
async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  if (session.is_delivered) return outcomes;
  await begin(session);
  return [];
}

/** The first read takes the lock that keeps the table's columns as they are; another session's lock is waited for here, a minute at most. */
async function begin(session: Session): Promise<void> {
  if (session.is_open) return;
  const { connection, config, delivery } = session;
  if (!session.is_delivered) await prepareTables(connection, config, delivery);
  await connection.run('START TRANSACTION');
  session.is_open = true;
  if (!session.is_delivered) await connection.rows(`SELECT 1 FROM ${targetOf(config).quoted} LIMIT 0`);
}

/** Rows of a delivery that is there already are read and left aside: they are in the table since its receipt is. */
async function write(session: Session, slice: Slice, bytes: Readable): Promise<{ name: string; state: null }> {
  const { connection, config, delivery } = session;
  const target = targetOf(config);
  try {
    if (session.is_delivered) {
      await pipeline(bytes, new Writable({ write: (_chunk, _encoding, callback) => callback() }));
      return { name: target.name, state: null };
    }
    await begin(session);
    const { before, after } = insertStatement(target.quoted, delivery);
    const row_bytes = connection.statement_bytes_max - Buffer.byteLength(before + after) - overhead_bytes;
    let written = 0;
    for await (const { text, records } of valueLists(delivery.columns, bytes, connection.escape, { bytes: Math.min(statement_bytes, row_bytes), row_bytes })) {
      await connection.run(before + text + after);
      written += records;
    }
    if (written !== slice.records)
      throw new RetryableError('count_mismatch', `Slice ${slice.number} has ${slice.records} rows, but ${written} came; it is written again.`);
    return { name: target.name, state: null };
  } finally {
    bytes.destroy();
  }
}

/** The receipt of a repeat replaces the earlier one, so that the place holds what the newest run signed. */
async function commit(session: Session, outcomes: SliceOutcome[], manifest: Manifest): Promise<void> {
  const { connection, config, delivery } = session;
  const target = targetOf(config);
  await begin(session);
  const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
  await connection.run(
    `INSERT INTO ${target.receipts} (delivery_id, batch_export_id, run_id, table_name, records, manifest) VALUES (?, ?, ?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE run_id = VALUES(run_id), records = VALUES(records), manifest = VALUES(manifest)`,
    [delivery.delivery_id, delivery.batch_export_id, delivery.run_id, target.name, records, manifest.text],
  );
  await connection.run('COMMIT');
  session.is_open = false;
  session.is_delivered = true;
}

async function rollBack(session: Session): Promise<void> {
  if (!session.is_open) return;
  await session.connection.run('ROLLBACK');
  session.is_open = false;
}
