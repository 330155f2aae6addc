import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RetryableError } from '../../destination.ts';
import type { Delivery, DestinationDeps, Manifest, Sink, Slice, SliceOutcome } from '../../destination.ts';
import { quoted, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withPostgresErrors } from './faults.ts';
import { isMerged, mergeStatement, prepareTables, tableExists } from './table.ts';

/** One delivery in one transaction: its lock, its rows, its receipt. */
type Session = { connection: Connection; config: PostgresConfig; delivery: Delivery; is_delivered: boolean; is_prepared: boolean; is_open: boolean };

const lock_timeout_seconds = 60;

/**
 * Opens the delivery's transaction. The advisory lock keeps a dead worker's attempt and ours apart: only its holder writes, and who gets it later sees the
 * receipt that the earlier one committed.
 */
export async function openPostgresSink(config: PostgresConfig, delivery: Delivery, deps: DestinationDeps): Promise<Sink> {
  const session = await withPostgresErrors(() => openSession(config, delivery, deps));
  return {
    isCommitted: async () => session.is_delivered,
    recover: (outcomes) => withPostgresErrors(() => recover(session, outcomes)),
    write: (slice, bytes) => withPostgresErrors(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) => withPostgresErrors(() => commit(session, outcomes, manifest)),
    abort: () => withPostgresErrors(() => rollBack(session)),
    close: () => session.connection.close(),
  };
}

async function openSession(config: PostgresConfig, delivery: Delivery, deps: DestinationDeps): Promise<Session> {
  const connection = await connect(config, deps);
  try {
    await connection.rows(
      `BEGIN; SET LOCAL lock_timeout = '${lock_timeout_seconds}s'; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`,
    );
    await connection.rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`sluice ${delivery.delivery_id}`]);
    return { connection, config, delivery, is_delivered: await hasReceipt(connection, config, delivery), is_prepared: false, is_open: true };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function hasReceipt(connection: Connection, config: PostgresConfig, delivery: Delivery): Promise<boolean> {
  const { receipts } = targetOf(config);
  if (!(await tableExists(connection, receipts))) return false;
  const found = await connection.rows(`SELECT 1 FROM ${receipts} WHERE delivery_id = $1`, [delivery.delivery_id]);
  return found.length > 0;
}

/** Nothing of a broken transaction is left. The table is made, checked and locked here, before the engine opens the query that would wait for it. */
async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  if (session.is_delivered) return outcomes;
  await prepare(session);
  return [];
}

/** Rows of a delivery that is there already are read and left aside: they are in the table since its receipt is. */
async function write(session: Session, slice: Slice, bytes: Readable): Promise<{ name: string; state: null }> {
  const target = targetOf(session.config);
  if (session.is_delivered) {
    await pipeline(bytes, new Writable({ write: (_chunk, _encoding, callback) => callback() }));
    return { name: target.name, state: null };
  }
  try {
    await prepare(session);
    const copied = await copySlice(session, bytes);
    if (copied !== slice.records) {
      throw new RetryableError(
        'count_mismatch',
        `Slice ${slice.number} has ${slice.records} rows, but the server took ${copied}; a trigger of the table may leave rows out.`,
      );
    }
    return { name: target.name, state: null };
  } finally {
    bytes.destroy();
  }
}

async function prepare(session: Session): Promise<void> {
  if (session.is_prepared) return;
  await prepareTables(session.connection, session.config, session.delivery);
  session.is_prepared = true;
}

async function copySlice({ connection, config, delivery }: Session, bytes: Readable): Promise<number> {
  const target = targetOf(config);
  const list = delivery.columns.map((column) => quoted(column.name)).join(', ');
  const copy = (table: string) => connection.copy(`COPY ${table} (${list}) FROM STDIN WITH (FORMAT text, ENCODING 'UTF8')`, bytes);
  if (!isMerged(delivery)) return copy(target.quoted);
  await connection.rows(`CREATE TEMPORARY TABLE IF NOT EXISTS sluice_stage ON COMMIT DROP AS SELECT ${list} FROM ${target.quoted} WITH NO DATA`);
  const copied = await copy('pg_temp.sluice_stage');
  await connection.rows(mergeStatement(target.quoted, 'pg_temp.sluice_stage', delivery.columns));
  await connection.rows('TRUNCATE pg_temp.sluice_stage');
  return copied;
}

/** The receipt of a repeat replaces the earlier one, so that the place holds what the newest run signed. */
async function commit(session: Session, outcomes: SliceOutcome[], manifest: Manifest): Promise<void> {
  if (!session.is_open) return;
  const { connection, config, delivery } = session;
  const target = targetOf(config);
  if (!session.is_delivered) await prepare(session);
  const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
  await connection.rows(
    `INSERT INTO ${target.receipts} (delivery_id, batch_export_id, run_id, table_name, records, manifest) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (delivery_id) DO UPDATE SET run_id = EXCLUDED.run_id, records = EXCLUDED.records, manifest = EXCLUDED.manifest`,
    [delivery.delivery_id, delivery.batch_export_id, delivery.run_id, target.name, records, manifest.text],
  );
  await connection.rows('COMMIT');
  session.is_open = false;
  session.is_delivered = true;
}

async function rollBack(session: Session): Promise<void> {
  if (!session.is_open) return;
  await session.connection.rows('ROLLBACK');
  session.is_open = false;
}
