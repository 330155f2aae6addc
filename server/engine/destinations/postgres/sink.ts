import type { Readable } from 'node:stream';
import { withCertainty } from '../../destination/errors.ts';
import type {
  Delivery,
  DestinationDeps,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
} from '../../destination/destination.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { withPostgresErrors } from '../../sql_tables/postgres_faults.ts';
import { leaveAside, requireRecords } from '../../sql_tables/staged_sink.ts';
import { targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import type { Mover } from './mover.ts';
import { writeReceipt } from './receipts.ts';
import {
  canStage,
  copyRows,
  dropStage,
  listStaged,
  makeStage,
  moveStage,
  stageSlice,
  takeStageOver,
} from './stage.ts';
import { endMove, lockDelivery } from './transaction.ts';
import { openSession, begin, end, startMover, closeMover, prepare } from './session.ts';
import type { Session } from './session.ts';

/**
 * Opens an attempt at a delivery. A delivery of one slice is one transaction. One of several slices
 * puts each, as it ends, into a stage table that outlives the attempt, and behind that a second
 * session moves them into the table, in one transaction with the last slice and the receipt. The
 * advisory lock keeps a dead worker's attempt and ours apart: only its holder stages and commits,
 * and who gets it later sees the receipt that the earlier one committed.
 */
export async function openPostgresSink(
  config: PostgresConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const session = await withPostgresErrors(() => openSession(config, delivery, deps));
  return {
    isCommitted: async () => session.is_delivered,
    recover: (outcomes) => withPostgresErrors(() => recover(session, outcomes)),
    write: (slice, bytes) => withPostgresErrors(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) =>
      withCertainty(
        () => withPostgresErrors(() => commit(session, outcomes, manifest)),
        () => session.may_show,
      ),
    abort: () => withPostgresErrors(() => abort(session)),
    close: async () => void (await Promise.all([closeMover(session), session.connection.close()])),
  };
}

/**
 * The table is made, checked and locked here, before the engine opens the query that would wait for
 * it.
 */
async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  const { connection, stage } = session;
  await begin(session);
  if (session.is_delivered) return outcomes;
  const surviving = await takeStageOver(connection, stage, outcomes);
  await prepare(session);
  if (surviving.length === 0) return [];
  session.way = 'staged';
  const staged = await listStaged(connection, stage);
  await startMover(session);
  await end(session, 'COMMIT');
  for (const [number, slice] of staged) session.mover?.move(number, slice);
  return surviving;
}

/**
 * Rows of a delivery that is there already are read and left aside: they are in the table since its
 * receipt is.
 */
async function write(
  session: Session,
  slice: Slice,
  bytes: Readable,
): Promise<{ name: string; state: null }> {
  const { name } = targetOf(session.config);
  try {
    await begin(session);
    if (session.is_delivered) await leaveAside(bytes);
    else await writeRows(session, slice, bytes);
    return { name, state: null };
  } finally {
    bytes.destroy();
  }
}

async function writeRows(session: Session, slice: Slice, bytes: Readable): Promise<void> {
  session.way ??= await chooseWay(session, slice);
  if (session.way === 'staged') return writeStaged(session, slice, bytes);
  await prepare(session);
  requireRecords(
    slice,
    await copyRows(session.connection, session.stage.target, session.delivery, bytes),
  );
}

/**
 * What is the only slice is repeated after a crash in any case, and without a right to make tables
 * there is no stage.
 */
async function chooseWay(session: Session, slice: Slice): Promise<'direct' | 'staged'> {
  const { connection, config, stage } = session;
  await takeStageOver(connection, stage, []);
  await prepare(session);
  if (slice.is_last === true || !(await canStage(connection, config))) return 'direct';
  await makeStage(connection, stage);
  await startMover(session);
  return 'staged';
}

/**
 * The last slice is the one that a crash may repeat, so it need not be staged, unless the mover is
 * so far behind that the source would have to wait for long.
 */
async function writeStaged(session: Session, slice: Slice, bytes: Readable): Promise<void> {
  const { connection, stage, mover } = session;
  if (mover?.hasFailed() === true) await failMove(session, mover);
  if (mover !== undefined && slice.is_last === true && mover.waiting() <= 1) {
    await end(session, 'ROLLBACK');
    return mover.copy(slice, bytes);
  }
  // The mover holds the table; asking for it a second time would wait behind whoever waits for the
  // mover.
  if (mover === undefined) await prepare(session);
  const staged = await stageSlice(connection, stage, slice, bytes);
  await end(session, 'COMMIT');
  mover?.move(slice.number, staged);
}

/**
 * Throws why nothing can be moved any more: an attempt that has taken the stage over ends our mover
 * too, and is then the reason.
 */
async function failMove({ connection, stage }: Session, mover: Mover): Promise<void> {
  await listStaged(connection, stage);
  await mover.settle();
}

async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  if (session.is_committed) return;
  const { connection, config, delivery } = session;
  await begin(session);
  const complete = session.is_delivered ? connection : await completeRows(session);
  await writeReceipt(complete, config, delivery, {
    outcomes,
    manifest,
    is_repeat: session.is_delivered,
  });
  await show(session, complete);
  session.is_committed = true;
  session.is_delivered = true;
}

/**
 * Commits the transaction that has everything. Constraints that are checked at the end and
 * conflicts are refusals: then the server has rolled it back.
 */
async function show(session: Session, complete: Connection): Promise<void> {
  const mayShowBefore = session.may_show;
  session.may_show = true;
  try {
    if (complete === session.connection) await end(session, 'COMMIT');
    else await complete.rows('COMMIT');
  } catch (error) {
    if (/^(23...|40001|40P01)$/.test(String((error as { code?: unknown }).code)))
      session.may_show = mayShowBefore;
    throw error;
  }
}

/**
 * The connection whose open transaction has all rows of the delivery in the table, the stage
 * removed, and the delivery's lock.
 */
async function completeRows(session: Session): Promise<Connection> {
  const { connection, delivery, stage, mover } = session;
  if (mover === undefined) {
    await prepare(session);
    if (session.way === 'staged') await moveStage(connection, stage);
    return connection;
  }
  await listStaged(connection, stage);
  await end(session, 'ROLLBACK');
  await mover.settle();
  await lockDelivery(mover.connection, delivery);
  await listStaged(mover.connection, stage);
  await dropStage(mover.connection, stage);
  return mover.connection;
}

async function abort(session: Session): Promise<void> {
  const { connection, delivery, stage } = session;
  await closeMover(session);
  await end(session, 'ROLLBACK');
  session.way = undefined;
  await begin(session);
  await endMove(connection, delivery);
  await dropStage(connection, stage);
  await end(session, 'COMMIT');
}
