import type { Readable } from 'node:stream';
import { throwIfStopped } from '../../destination/stop.ts';
import type { Delivery, DestinationDeps, Slice } from '../../destination/destination.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { accessOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { requireRecords } from '../../sql_tables/staged_sink.ts';
import { copyStatement, moveSlice } from './stage.ts';
import type { Stage, StagedSlice } from './stage.ts';
import { prepareTables } from './table.ts';
import { beginTransaction, lockMove } from './transaction.ts';

/**
 * The second session of an attempt: one open transaction in which staged slices go into the target
 * while the next ones are staged. Its commit is that of the delivery; when it ends otherwise, the
 * stage still has everything.
 */
export type Mover = {
  connection: Connection;
  /**
   * Moves the slice when those before it are moved. Does not wait: `settle` rejects when it failed.
   */
  move(number: number, staged: StagedSlice): void;
  /** How many slices wait to be moved or are being moved. */
  waiting(): number;
  /** True when something could not be moved: nothing more will be, and `settle` says why. */
  hasFailed(): boolean;
  /** Waits until all slices are moved. */
  settle(): Promise<void>;
  /**
   * Copies a slice straight into the target, behind all that were moved: it is repeated after a
   * crash. Throws `count_mismatch`.
   */
  copy(slice: Slice, bytes: Readable): Promise<void>;
};

/**
 * Opens the session. To be called by whoever has the delivery, so that the last who took the stage
 * over is the only one who moves. Undefined where the server gives no second session: then slices
 * are moved when all are staged.
 */
export async function openMover(
  config: PostgresConfig,
  delivery: Delivery,
  stage: Stage,
  deps: DestinationDeps,
): Promise<Mover | undefined> {
  let connection: Connection;
  try {
    connection = await connect(accessOf(config), deps);
  } catch (error) {
    throwIfStopped(deps.signal);
    deps.log.info(
      { err: error },
      'the server gave no second session: slices are moved when all are staged',
    );
    return undefined;
  }
  try {
    await beginTransaction(connection);
    await lockMove(connection, delivery);
    return moverOf(connection, config, delivery, stage);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function moverOf(
  connection: Connection,
  config: PostgresConfig,
  delivery: Delivery,
  stage: Stage,
): Mover {
  let waiting = 0;
  let has_failed = false;
  let work: Promise<void> | undefined;
  const prepared = () => prepareTables(connection, config, delivery);
  return {
    connection,
    move: (number, staged) => {
      waiting += 1;
      // The table is locked with the first slice, when the transaction that made it has been
      // committed.
      work = (work ?? prepared())
        .then(() => moveSlice(connection, stage, number, staged))
        .then(() => void (waiting -= 1));
      work.catch(() => (has_failed = true));
    },
    waiting: () => waiting,
    hasFailed: () => has_failed,
    settle: async () => work,
    copy: async (slice, bytes) => {
      await work;
      requireRecords(slice, await connection.copy(copyStatement(stage.target, delivery), bytes));
    },
  };
}
