import type { Readable } from 'node:stream';
import type {
  Delivery,
  DestinationDeps,
  Json,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import { commitKnowingly } from '../sql_tables/commit.ts';
import { postgresAnswer } from '../sql_tables/postgres_commit.ts';
import { connect } from '../sql_tables/postgres_connection.ts';
import type { Connection } from '../sql_tables/postgres_connection.ts';
import { newStanding, openStagedSink, recordsIn, requireCame } from '../sql_tables/staged_sink.ts';
import type { StagedDelivery, Standing } from '../sql_tables/staged_sink.ts';
import { accessOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { copyStage } from './copy_stage.ts';
import { redshiftError } from './faults.ts';
import { withFaults } from '../../model/destination/faults.ts';
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
  standing: Standing;
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
  const stage = config.mode === 'COPY' ? copyStage(config, delivery, deps) : insertStage();
  const connection = await withFaults(redshiftError, () => connect(accessOf(config), deps));
  const session: Session = {
    connection,
    config,
    delivery,
    stage,
    standing: newStanding(),
    supers: undefined,
  };
  const work: StagedDelivery = {
    name: targetOf(config).name,
    delivery,
    standing: session.standing,
    begin: () =>
      waiting(connection, receipts_name, () =>
        hasReceipt(connection, config, delivery.delivery_id),
      ),
    recover: async (outcomes) => session.stage.recover(await placeOf(session), outcomes),
    write: (slice, bytes) => write(session, slice, bytes),
    commit: (outcomes, manifest) => commit(session, outcomes, manifest),
    abort: () => clear(session),
    tidyUp: () => clear(session),
    close: () => connection.close(),
  };
  return openStagedSink(work, redshiftError, deps.log);
}

/** The tables are created and checked before the first row is taken. */
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

async function write(session: Session, slice: Slice, bytes: Readable): Promise<Json> {
  const { records, state } = await session.stage.write(await placeOf(session), slice, bytes);
  requireCame(slice, records);
  return state;
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
  const { connection, config, delivery, standing } = session;
  const target = targetOf(config);
  await unlessGone(async () => {
    const source = standing.is_delivered ? undefined : await load(session, outcomes);
    const show = async () => {
      // The first statement: what the transaction sees is settled by the first one that reads, and
      // that must be after the lock.
      await waiting(connection, receipts_name, () =>
        connection.rows(`LOCK TABLE ${target.receipts}`),
      );
      const is_repeat = await hasReceipt(connection, config, delivery.delivery_id);
      standing.may_show = is_repeat;
      if (source !== undefined && !is_repeat)
        for (const statement of showStatements(target.quoted, target.table, delivery, source))
          await connection.rows(statement);
      await writeReceipt(connection, config, {
        delivery,
        records: recordsIn(outcomes),
        text: manifest.text,
        is_repeat,
      });
    };
    await inTransaction(connection, show, () =>
      commitKnowingly(standing, manifest, {
        commit: () => connection.end('COMMIT'),
        answerOf: (error) => postgresAnswer(connection, error),
      }),
    );
  });
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
