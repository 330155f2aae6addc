import type { Readable } from 'node:stream';
import { RetryableError, withCertainty } from '../../destination/errors.ts';
import type {
  Delivery,
  DestinationDeps,
  Json,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
} from '../../destination/destination.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { leaveAside, recordsIn } from '../../sql_tables/staged_sink.ts';
import { accessOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { copyStage } from './copy_stage.ts';
import { redshiftError, withRedshiftErrors } from './faults.ts';
import { hasReceipt, writeReceipt } from './receipts.ts';
import { dropSliceTables, unlessGone } from './slice_table.ts';
import { insertStage, requireStaged } from './stage.ts';
import type { Stage, StagePlace } from './stage.ts';
import { prepareTables, showStatements } from './table.ts';
import { inTransaction, waiting } from './transactions.ts';

/**
 * One delivery in one session: its rows wait in the stage until one short transaction shows them
 * all.
 */
type Session = {
  connection: Connection;
  config: RedshiftConfig;
  delivery: Delivery;
  stage: Stage;
  deps: DestinationDeps;
  is_delivered: boolean;
  /**
   * The table may show the delivery: it was there, or everything of it was done but for the COMMIT.
   */
  may_show: boolean;
  supers: ReadonlySet<string> | undefined;
};

const receipts_name = 'the table of receipts';

/**
 * Opens the delivery's session. Redshift has no advisory locks: two workers with the same delivery
 * are kept apart by the lock on the table of receipts, which is held from before the look at the
 * receipt until the commit, so who comes second sees what the first one committed.
 */
export async function openRedshiftSink(
  config: RedshiftConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const session = await withRedshiftErrors(() => openSession(config, delivery, deps));
  return {
    isCommitted: async () => session.is_delivered,
    recover: (outcomes) => withRedshiftErrors(() => recover(session, outcomes)),
    write: (slice, bytes) => withRedshiftErrors(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) =>
      withCertainty(
        () => withRedshiftErrors(() => commit(session, outcomes, manifest)),
        () => session.may_show,
      ),
    abort: () => withRedshiftErrors(() => clear(session)),
    close: () => session.connection.close(),
  };
}

async function openSession(
  config: RedshiftConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Session> {
  const connection = await connect(accessOf(config), deps);
  try {
    const is_delivered = await waiting(connection, receipts_name, () =>
      hasReceipt(connection, config, delivery.delivery_id),
    );
    const stage = config.mode === 'COPY' ? copyStage(config, delivery, deps) : insertStage();
    const session: Session = {
      connection,
      config,
      delivery,
      stage,
      deps,
      is_delivered,
      may_show: is_delivered,
      supers: undefined,
    };
    // A worker that was killed right after its receipt has left what the rows waited in.
    if (is_delivered) await tidyUp(session);
    return session;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  if (session.is_delivered) return outcomes;
  return session.stage.recover(await placeOf(session), outcomes);
}

/** The tables are made and checked before the first row is taken. */
async function placeOf(session: Session): Promise<StagePlace> {
  session.supers ??= await prepareTables(
    session.connection,
    session.config,
    session.delivery.columns,
  );
  return {
    connection: session.connection,
    config: session.config,
    delivery: session.delivery,
    supers: session.supers,
  };
}

/**
 * Rows of a delivery that is there already are read and left aside: they are in the table since its
 * receipt is.
 */
async function write(
  session: Session,
  slice: Slice,
  bytes: Readable,
): Promise<{ name: string; state: Json }> {
  const { name } = targetOf(session.config);
  try {
    if (session.is_delivered) {
      await leaveAside(bytes);
      return { name, state: null };
    }
    const { records, state } = await session.stage.write(await placeOf(session), slice, bytes);
    if (records !== slice.records)
      throw new RetryableError(
        'count_mismatch',
        `Slice ${slice.number} has ${slice.records} rows, but ${records} came; it is written ` +
          'again.',
      );
    return { name, state };
  } finally {
    bytes.destroy();
  }
}

/**
 * The receipt of a repeat replaces the earlier one, so that the place holds what the newest run
 * signed.
 */
async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  const { connection, config, delivery } = session;
  const target = targetOf(config);
  await unlessGone(async () => {
    const source = session.is_delivered ? undefined : await load(session, outcomes);
    await inTransaction(connection, async () => {
      // The first statement: what the transaction sees is settled by the first one that reads, and
      // that must be after the lock.
      await waiting(connection, receipts_name, () =>
        connection.rows(`LOCK TABLE ${target.receipts}`),
      );
      const is_repeat = await hasReceipt(connection, config, delivery.delivery_id);
      session.may_show = is_repeat;
      if (source !== undefined && !is_repeat)
        for (const statement of showStatements(target.quoted, target.table, delivery, source))
          await connection.rows(statement);
      await writeReceipt(connection, config, {
        delivery,
        records: recordsIn(outcomes),
        text: manifest.text,
        is_repeat,
      });
      session.may_show = true;
    });
  });
  session.is_delivered = true;
  await tidyUp(session);
}

async function load(session: Session, outcomes: SliceOutcome[]): Promise<string> {
  const source = await session.stage.load(await placeOf(session), outcomes);
  await requireStaged(session.connection, source, outcomes);
  return source;
}

/**
 * The tables are looked for whatever the mode is: it may have been another one when an earlier
 * attempt began.
 */
async function clear(session: Session): Promise<void> {
  await dropSliceTables(session);
  await session.stage.clear();
}

/**
 * The delivery is there and whole by now, so a fault in removing what it waited in is no fault of
 * the delivery.
 */
async function tidyUp(session: Session): Promise<void> {
  const { deps, delivery } = session;
  await clear(session).catch((error: unknown) =>
    deps.log.warn(
      { err: redshiftError(error), delivery_id: delivery.delivery_id },
      'what a delivery waited in could not be removed',
    ),
  );
}
