import { throwIfStopped } from '../../model/destination/stop.ts';
import type { Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import type { Mover } from '../sql_tables/in_transactions.ts';
import { postgresAnswer } from '../sql_tables/postgres/commit.ts';
import { connect } from '../sql_tables/postgres/connection.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { accessOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { postgresDialect } from './dialect.ts';
import { prepareTables } from '../sql_tables/prepare.ts';
import { writeReceipt } from '../sql_tables/receipts.ts';
import { requireRecords } from '../sql_tables/staged_sink.ts';
import { copyStatement, dropStage, listStaged, moveSlice } from './stage.ts';
import type { Stage, StagedSlice } from './stage.ts';
import { beginTransaction, lockDelivery, lockMove } from './transaction.ts';

/** The stage, if it contains the slices, and the session that holds the delivery. */
type Staging = {
  stage: Stage;
  staged: ReadonlyMap<number, StagedSlice>;
  holder: Connection;
};

/**
 * Opens the session. Only the holder of the delivery calls it, so that only the last attempt to
 * claim the stage moves rows. Undefined if the server provides no second session: slices are then
 * moved when all are staged.
 */
export async function openMover(
  config: PostgresConfig,
  delivery: Delivery,
  deps: DestinationDeps,
  staging: Staging,
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
    return moverOf(connection, config, delivery, staging);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function moverOf(
  connection: Connection,
  config: PostgresConfig,
  delivery: Delivery,
  { stage, staged, holder }: Staging,
): Mover {
  let waiting = 0;
  let has_failed = false;
  let work: Promise<unknown> | undefined;
  const dialect = postgresDialect(connection, config);
  return {
    move: (number) => {
      waiting += 1;
      // The table is locked with the first slice, after the transaction that created it has been
      // committed.
      work = (work ?? prepareTables(dialect, delivery))
        .then(() => moveSlice(connection, stage, number, staged.get(number)!))
        .then(() => void (waiting -= 1));
      work.catch(() => (has_failed = true));
    },
    isBehind: () => waiting > 1,
    check: async () => {
      await listStaged(holder, stage);
      if (has_failed) await work;
    },
    insert: async (slice, bytes) => {
      await work;
      requireRecords(slice, await connection.copy(copyStatement(stage.target, delivery), bytes));
    },
    finish: async () => {
      await work;
      await lockDelivery(connection, delivery);
      await listStaged(connection, stage);
      await dropStage(connection, stage);
    },
    writeReceipt: (records, manifest, is_repeat) =>
      writeReceipt(dialect, delivery, { records, text: manifest.text, is_repeat }),
    end: (statement) => connection.end(statement),
    answerOf: (error) => postgresAnswer(connection, error),
    close: () => connection.close(),
  };
}
