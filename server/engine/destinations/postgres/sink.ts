import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Delivery, DestinationDeps, Manifest, Sink, Slice, SliceOutcome } from '../../destination.ts';
import { isMerged } from '../../sql_tables/layout.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { withPostgresErrors } from '../../sql_tables/postgres_faults.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { canStage, columnList, dropStage, moveStage, requireRecords, stageOf, stageSlice, takeStageOver } from './stage.ts';
import type { Stage } from './stage.ts';
import { mergeStatement, prepareTables, tableExists } from './table.ts';

/** One attempt at a delivery. Everything it does is done in transactions that begin with the delivery's lock. */
type Session = {
  connection: Connection;
  config: PostgresConfig;
  delivery: Delivery;
  stage: Stage;
  /** How its rows go into the table; undefined until the first slice or a stage of an earlier attempt decides. */
  way: 'direct' | 'staged' | undefined;
  /** The table holds the delivery and its receipt, by this attempt or another one. */
  is_delivered: boolean;
  /** Is a transaction open, and are the target and its receipts made, checked and locked in it? */
  is_open: boolean;
  is_prepared: boolean;
  /** This attempt has put its receipt there. */
  is_committed: boolean;
};

const lock_timeout_seconds = 60;

/**
 * Opens an attempt at a delivery. A delivery of one slice is one transaction. One of several slices puts each, as it ends, into a stage table that outlives the attempt, and moves them into the table together with the
 * receipt in one transaction. The advisory lock keeps a dead worker's attempt and ours apart: only its holder writes, and who gets it later sees the receipt that the earlier one committed.
 */
export async function openPostgresSink(config: PostgresConfig, delivery: Delivery, deps: DestinationDeps): Promise<Sink> {
  const session = await withPostgresErrors(() => openSession(config, delivery, deps));
  return {
    isCommitted: async () => session.is_delivered,
    recover: (outcomes) => withPostgresErrors(() => recover(session, outcomes)),
    write: (slice, bytes) => withPostgresErrors(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) => withPostgresErrors(() => commit(session, outcomes, manifest)),
    abort: () => withPostgresErrors(() => abort(session)),
    close: () => session.connection.close(),
  };
}

async function openSession(config: PostgresConfig, delivery: Delivery, deps: DestinationDeps): Promise<Session> {
  const connection = await connect(accessOf(config), deps);
  try {
    const stage = stageOf(connection, config, delivery, randomUUID());
    const session: Session = {
      connection,
      config,
      delivery,
      stage,
      way: undefined,
      is_delivered: false,
      is_open: false,
      is_prepared: false,
      is_committed: false,
    };
    await begin(session);
    return session;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function begin(session: Session): Promise<void> {
  if (session.is_open) return;
  const { connection, delivery } = session;
  await connection.rows(
    `BEGIN; SET LOCAL lock_timeout = '${lock_timeout_seconds}s'; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`,
  );
  session.is_open = true;
  session.is_prepared = false;
  await connection.rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`sluice ${delivery.delivery_id}`]);
  session.is_delivered = await hasReceipt(session);
}

async function end(session: Session, statement: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  if (!session.is_open) return;
  await session.connection.rows(statement);
  session.is_open = false;
}

async function hasReceipt({ connection, config, delivery }: Session): Promise<boolean> {
  const { receipts } = targetOf(config);
  if (!(await tableExists(connection, receipts))) return false;
  const found = await connection.rows(`SELECT 1 FROM ${receipts} WHERE delivery_id = $1`, [delivery.delivery_id]);
  return found.length > 0;
}

/** The table is made, checked and locked here, before the engine opens the query that would wait for it. */
async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  await begin(session);
  if (session.is_delivered) return outcomes;
  await prepare(session);
  const surviving = await takeStageOver(session.stage, outcomes);
  if (surviving.length > 0) {
    await end(session, 'COMMIT');
    session.way = 'staged';
  }
  return surviving;
}

/** Rows of a delivery that is there already are read and left aside: they are in the table since its receipt is. */
async function write(session: Session, slice: Slice, bytes: Readable): Promise<{ name: string; state: null }> {
  const { name } = targetOf(session.config);
  try {
    await begin(session);
    if (session.is_delivered) await pipeline(bytes, new Writable({ write: (_chunk, _encoding, callback) => callback() }));
    else await writeRows(session, slice, bytes);
    return { name, state: null };
  } finally {
    bytes.destroy();
  }
}

async function writeRows(session: Session, slice: Slice, bytes: Readable): Promise<void> {
  await prepare(session);
  const isFirst = session.way === undefined;
  if (session.way === undefined) {
    await takeStageOver(session.stage, []);
    // What is the only slice is repeated after a crash in any case, and without a right to make tables there is no stage.
    session.way = slice.is_only === true || !(await canStage(session.connection, session.config)) ? 'direct' : 'staged';
  }
  if (session.way === 'direct') return requireRecords(slice, await copySlice(session, bytes));
  await stageSlice(session.stage, slice, bytes, isFirst);
  await end(session, 'COMMIT');
}

async function prepare(session: Session): Promise<void> {
  if (session.is_prepared) return;
  await prepareTables(session.connection, session.config, session.delivery);
  session.is_prepared = true;
}

async function copySlice({ connection, config, delivery }: Session, bytes: Readable): Promise<number> {
  const target = targetOf(config);
  const list = columnList(delivery);
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
  if (session.is_committed) return;
  const { connection, config, delivery } = session;
  const target = targetOf(config);
  await begin(session);
  if (!session.is_delivered) await prepare(session);
  if (!session.is_delivered && session.way === 'staged') await moveStage(session.stage);
  const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
  await connection.rows(
    `INSERT INTO ${target.receipts} (delivery_id, batch_export_id, run_id, table_name, records, manifest) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (delivery_id) DO UPDATE SET run_id = EXCLUDED.run_id, records = EXCLUDED.records, manifest = EXCLUDED.manifest`,
    [delivery.delivery_id, delivery.batch_export_id, delivery.run_id, target.name, records, manifest.text],
  );
  await end(session, 'COMMIT');
  session.is_committed = true;
  session.is_delivered = true;
}

async function abort(session: Session): Promise<void> {
  await end(session, 'ROLLBACK');
  session.way = undefined;
  await begin(session);
  await dropStage(session.stage);
  await end(session, 'COMMIT');
}
