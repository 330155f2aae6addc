import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RetryableError } from '../../destination.ts';
import type { Delivery, DestinationDeps, Json, Manifest, Sink, Slice, SliceOutcome } from '../../destination.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { accessOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { copyStage } from './copy_stage.ts';
import { withRedshiftErrors } from './faults.ts';
import { hasReceipt, replaceReceipt } from './receipts.ts';
import { inTransaction, insertStage, requireStaged } from './stage.ts';
import type { Stage, StagePlace } from './stage.ts';
import { prepareTables, showStatements } from './table.ts';

/** One delivery in one session: its rows wait in the stage until one short transaction shows them all. */
type Session = {
  connection: Connection;
  config: RedshiftConfig;
  delivery: Delivery;
  stage: Stage;
  deps: DestinationDeps;
  is_delivered: boolean;
  supers: ReadonlySet<string> | undefined;
};

const lock_wait_milliseconds = 60_000;
/** What the server says of a statement that took longer than `statement_timeout`. */
const cancelled = '57014';

/**
 * Opens the delivery's session. Redshift has no advisory locks: two workers with the same delivery are kept apart by the lock on the table of receipts, which is held from before the look at the receipt
 * until the commit, so who comes second sees what the first one committed.
 */
export async function openRedshiftSink(config: RedshiftConfig, delivery: Delivery, deps: DestinationDeps): Promise<Sink> {
  const session = await withRedshiftErrors(() => openSession(config, delivery, deps));
  return {
    isCommitted: async () => session.is_delivered,
    recover: (outcomes) => withRedshiftErrors(() => recover(session, outcomes)),
    write: (slice, bytes) => withRedshiftErrors(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) => withRedshiftErrors(() => commit(session, outcomes, manifest)),
    abort: () => withRedshiftErrors(() => session.stage.clear()),
    close: () => session.connection.close(),
  };
}

async function openSession(config: RedshiftConfig, delivery: Delivery, deps: DestinationDeps): Promise<Session> {
  const connection = await connect(accessOf(config), deps);
  try {
    const is_delivered = await waiting(connection, () => hasReceipt(connection, config, delivery.delivery_id));
    const stage = config.mode === 'COPY' ? copyStage(config, delivery, deps) : insertStage();
    return { connection, config, delivery, stage, deps, is_delivered, supers: undefined };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Runs a statement that may wait for another delivery's commit, a minute at most. Redshift has no bound on locks alone, so it is one on the statement. */
async function waiting<Result>(connection: Connection, work: () => Promise<Result>): Promise<Result> {
  await connection.rows(`SET statement_timeout TO ${lock_wait_milliseconds}`);
  try {
    const result = await work();
    await connection.rows('SET statement_timeout TO 0');
    return result;
  } catch (error) {
    if ((error as { code?: unknown }).code !== cancelled) throw error;
    throw new RetryableError('locked', 'Another delivery or session holds a lock on the table of receipts.', { cause: error });
  }
}

async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  if (session.is_delivered) return outcomes;
  await placeOf(session);
  return session.stage.recover(outcomes);
}

/** The tables are made and checked before the first row is taken. */
async function placeOf(session: Session): Promise<StagePlace> {
  session.supers ??= await prepareTables(session.connection, session.config, session.delivery.columns);
  return { connection: session.connection, config: session.config, delivery: session.delivery, supers: session.supers };
}

/** Rows of a delivery that is there already are read and left aside: they are in the table since its receipt is. */
async function write(session: Session, slice: Slice, bytes: Readable): Promise<{ name: string; state: Json }> {
  const { name } = targetOf(session.config);
  try {
    if (session.is_delivered) {
      await pipeline(bytes, new Writable({ write: (_chunk, _encoding, callback) => callback() }));
      return { name, state: null };
    }
    const { records, state } = await session.stage.write(await placeOf(session), slice, bytes);
    if (records !== slice.records)
      throw new RetryableError('count_mismatch', `Slice ${slice.number} has ${slice.records} rows, but ${records} came; it is written again.`);
    return { name, state };
  } finally {
    bytes.destroy();
  }
}

/** The receipt of a repeat replaces the earlier one, so that the place holds what the newest run signed. */
async function commit(session: Session, outcomes: SliceOutcome[], manifest: Manifest): Promise<void> {
  const { connection, config, delivery } = session;
  const target = targetOf(config);
  if (!session.is_delivered) {
    await session.stage.load(await placeOf(session), outcomes);
    await requireStaged(connection, outcomes);
  }
  await inTransaction(connection, async () => {
    // The first statement: what the transaction sees is settled by the first one that reads, and that must be after the lock.
    await waiting(connection, () => connection.rows(`LOCK TABLE ${target.receipts}`));
    if (!session.is_delivered && !(await hasReceipt(connection, config, delivery.delivery_id)))
      for (const statement of showStatements(target.quoted, target.table, delivery)) await connection.rows(statement);
    const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
    await replaceReceipt(connection, config, { delivery, records, text: manifest.text });
  });
  session.is_delivered = true;
  // The delivery is there and whole by now, so a fault in removing what it waited in is no fault of the delivery.
  await session.stage
    .clear()
    .catch((error: unknown) => session.deps.log.warn({ err: error, delivery_id: delivery.delivery_id }, 'staged objects could not be removed'));
}
