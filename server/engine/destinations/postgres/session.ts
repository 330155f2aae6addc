import { randomUUID } from 'node:crypto';
import type { Delivery, DestinationDeps } from '../../destination/destination.ts';
import { isMerged } from '../../sql_tables/layout.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { accessOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { openMover } from './mover.ts';
import type { Mover } from './mover.ts';
import { hasReceipt } from './receipts.ts';
import { stageOf } from './stage.ts';
import type { Stage } from './stage.ts';
import { prepareTables } from './table.ts';
import { beginTransaction, lockDelivery } from './transaction.ts';

/**
 * One attempt at a delivery. Everything it does is done in transactions that begin with the
 * delivery's lock; that of the mover takes it before it commits.
 */
export type Session = {
  connection: Connection;
  config: PostgresConfig;
  delivery: Delivery;
  deps: DestinationDeps;
  stage: Stage;
  /**
   * How its rows go into the table; undefined until the first slice or a stage of an earlier
   * attempt decides.
   */
  way: 'direct' | 'staged' | undefined;
  /**
   * Moves staged slices while the next ones are staged; undefined where all are moved at the end.
   */
  mover: Mover | undefined;
  /** The table holds the delivery and its receipt, by this attempt or another one. */
  is_delivered: boolean;
  /** Is a transaction open, and are the target and its receipts made, checked and locked in it? */
  is_open: boolean;
  is_prepared: boolean;
  /** This attempt has put its receipt there. */
  is_committed: boolean;
  /**
   * The table may show the delivery: it was there, or the server was told to commit and did not
   * refuse.
   */
  may_show: boolean;
};

/** Connects and begins the first transaction; nothing stays open when that fails. */
export async function openSession(
  config: PostgresConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Session> {
  const connection = await connect(accessOf(config), deps);
  try {
    const session: Session = {
      connection,
      config,
      delivery,
      deps,
      stage: stageOf(config, delivery, randomUUID()),
      way: undefined,
      mover: undefined,
      is_delivered: false,
      is_open: false,
      is_prepared: false,
      is_committed: false,
      may_show: false,
    };
    await begin(session);
    return session;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * Opens a transaction with the delivery's lock, if none is open, and looks whether the delivery is
 * there.
 */
export async function begin(session: Session): Promise<void> {
  if (session.is_open) return;
  const { connection, config, delivery } = session;
  await beginTransaction(connection);
  session.is_open = true;
  session.is_prepared = false;
  await lockDelivery(connection, delivery);
  session.is_delivered = await hasReceipt(connection, config, delivery);
  session.may_show = session.is_delivered;
}

/** Ends the open transaction, if there is one. */
export async function end(session: Session, statement: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  if (!session.is_open) return;
  await session.connection.rows(statement);
  session.is_open = false;
}

/**
 * Persons are merged when all are staged, in the order of their keys: deliveries that merge the
 * same persons bit by bit would wait for each other in a circle.
 */
export async function startMover(session: Session): Promise<void> {
  const { config, delivery, stage, deps } = session;
  if (!isMerged(delivery)) session.mover = await openMover(config, delivery, stage, deps);
}

/** What was moved and not committed is rolled back. */
export async function closeMover(session: Session): Promise<void> {
  const { mover } = session;
  session.mover = undefined;
  await mover?.connection.close();
}

/** Makes, checks and locks the tables, once in each transaction. */
export async function prepare(session: Session): Promise<void> {
  if (session.is_prepared) return;
  await prepareTables(session.connection, session.config, session.delivery);
  session.is_prepared = true;
}
