import { randomUUID } from 'node:crypto';
import type { Delivery, DestinationDeps, Sink } from '../../model/destination/destination.ts';
import { inTransactions } from '../sql_tables/in_transactions.ts';
import type { TransactionalDelivery } from '../sql_tables/in_transactions.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { isGeneration } from '../sql_tables/generations.ts';
import { isMerged } from '../sql_tables/layout.ts';
import { postgresAnswer } from '../sql_tables/postgres/commit.ts';
import { connect } from '../sql_tables/postgres/connection.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { eraseRows, prepareTables } from '../sql_tables/prepare.ts';
import { findReceipt } from '../sql_tables/receipts.ts';
import { rejectedTable } from '../sql_tables/rejected/rejected_table.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import { withFaults } from '../../model/destination/faults.ts';
import { postgresError } from '../sql_tables/postgres/faults.ts';
import { openStagedSink, requireRecords } from '../sql_tables/staged_sink.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { postgresDialect } from './dialect.ts';
import { openMover } from './mover.ts';
import {
  canStage,
  copyRows,
  dropStage,
  listStaged,
  createStage,
  stageOf,
  stageSlice,
  takeStageOver,
} from './stage.ts';
import type { StagedSlice } from './stage.ts';
import { showing } from './replace.ts';
import { beginTransaction, endMove, lockDelivery } from './transaction.ts';

/**
 * Opens an attempt at a delivery. A second session moves staged rows into the table, in one
 * transaction with the last slice and the receipt. The advisory lock separates a dead worker's
 * attempt from ours: only its holder stages and commits, and the later holder sees the receipt that
 * the earlier one committed.
 */
export async function openPostgresSink(
  config: PostgresConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const connection = await withFaults(postgresError, () => connect(accessOf(config), deps));
  const dialect = postgresDialect(connection, config);
  const stage = stageOf(config, delivery, randomUUID());
  /** Places of the slices in the stage. */
  const staged = new Map<number, StagedSlice>();
  const held = { connection, dialect, delivery };
  const work: TransactionalDelivery = {
    name: targetOf(config).name,
    delivery,
    begin: () => begin(held),
    end: (statement) => connection.end(statement),
    answerOf: (error) => postgresAnswer(connection, error),
    prepare: () => prepare(held, deps),
    takeOver: async (outcomes) => {
      const surviving = await takeStageOver(connection, stage, outcomes);
      if (surviving.length > 0)
        for (const [number, slice] of await listStaged(connection, stage))
          staged.set(number, slice);
      return surviving;
    },
    createStage: async () => {
      if (!(await canStage(connection, config))) return false;
      await createStage(connection, stage);
      return true;
    },
    // Rows are merged when all are staged, in the order of their keys: deliveries that merge the
    // same rows piece by piece would deadlock. A generation is shown as a whole.
    openMover: async () =>
      isMerged(delivery) || isGeneration(delivery)
        ? undefined
        : openMover(config, delivery, deps, { stage, staged, holder: connection }),
    stage: async (slice, bytes) => {
      staged.set(slice.number, await stageSlice(connection, stage, slice, bytes));
      return null;
    },
    insert: async (slice, bytes) =>
      requireRecords(slice, await copyRows(connection, stage.target, delivery, bytes)),
    ...showing(connection, dialect, stage),
    erase: (keys) => eraseRows(dialect, delivery, keys),
    rejected: rejectedTable(dialect, delivery),
    dropStage: async () => {
      await endMove(connection, delivery);
      await dropStage(connection, stage);
    },
    close: () => connection.close(),
  };
  return openStagedSink(inTransactions(work), postgresError, deps.log);
}

type Held = { connection: Connection; dialect: Dialect; delivery: Delivery };

async function begin({ connection, dialect, delivery }: Held): Promise<boolean> {
  await beginTransaction(connection);
  await lockDelivery(connection, delivery);
  return (await findReceipt(dialect, delivery.delivery_id)) !== undefined;
}

/** ALTER's lock blocks readers, so it ends at once instead of with the delivery. */
async function prepare(
  held: Held,
  deps: Pick<DestinationDeps, 'warn' | 'refuseLoss'>,
): Promise<void> {
  const { connection, dialect, delivery } = held;
  const { is_altered } = await prepareTables(dialect, delivery, deps);
  if (!is_altered) return;
  await connection.end('COMMIT');
  if (await begin(held))
    throw new RetryableError(
      'slice_lost',
      'Another attempt showed the delivery while the table got new columns; Sluice looks again.',
    );
  await prepareTables(dialect, delivery);
}
