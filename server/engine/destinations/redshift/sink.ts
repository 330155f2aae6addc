import { randomBytes } from 'node:crypto';
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
import { postgresAnswer } from '../sql_tables/postgres/commit.ts';
import { connect } from '../sql_tables/postgres/connection.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';
import { openApart, takenOver } from '../sql_tables/rejected/apart.ts';
import type { Apart, ApartStage } from '../sql_tables/rejected/apart.ts';
import { sendByPart } from '../sql_tables/rejected/set_aside.ts';
import { openReplacing } from '../sql_tables/generations.ts';
import { prepareTables } from '../sql_tables/prepare.ts';
import { findReceipt, writeReceipt } from '../sql_tables/receipts.ts';
import { newStanding, openStagedSink, recordsIn, requireCame } from '../sql_tables/staged_sink.ts';
import type { StagedDelivery, Standing } from '../sql_tables/staged_sink.ts';
import { accessOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { copyStage } from './copy_stage.ts';
import { redshiftDialect } from './dialect.ts';
import { redshiftError } from './faults.ts';
import { withFaults } from '../../model/destination/faults.ts';
import { dropSliceTables, unlessGone } from './slice_table.ts';
import { insertRows, insertStage, requireStaged } from './stage.ts';
import type { Stage } from './stage.ts';
import { apartStatement, showStatements, supersOf } from './table.ts';
import { inTransaction, waiting } from './transactions.ts';

/**
 * One delivery in one session: its rows wait in the stage until one short transaction shows them
 * all.
 */
type Session = {
  connection: Connection;
  config: RedshiftConfig;
  dialect: Dialect;
  delivery: Delivery;
  stage: Stage;
  standing: Standing;
  told: Pick<DestinationDeps, 'warn' | 'refuseLoss'>;
  /** The target of rows while some are set aside, and the rows set aside. */
  apart: Apart | undefined;
  /** The columns of the table, and those with SUPER values; known once it is prepared. */
  found: FoundColumn[];
  supers: ReadonlySet<string>;
};

const receipts_name = 'the table of receipts';

/**
 * Opens the delivery's session. Redshift has no advisory locks. Instead, the lock on the table of
 * receipts separates two workers with the same delivery. It is held from before the look-up of the
 * receipt until the commit, so the second worker sees the first one's commit.
 */
export async function openRedshiftSink(
  config: RedshiftConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const stage = config.mode === 'COPY' ? copyStage(config, delivery, deps) : insertStage();
  const connection = await withFaults(redshiftError, () => connect(accessOf(config), deps));
  const dialect = redshiftDialect(connection, config);
  const session: Session = {
    connection,
    config,
    dialect,
    delivery,
    stage,
    standing: newStanding(),
    told: deps,
    apart: undefined,
    found: [],
    supers: new Set(),
  };

  const work: StagedDelivery = {
    name: targetOf(config).name,
    delivery,
    standing: session.standing,
    begin: () => waiting(connection, receipts_name, () => isDelivered(session)),
    prepare: () => prepare(session),
    recover: (outcomes) => stage.recover(session, delivery.rejects === undefined ? outcomes : []),
    readsAgain: true,
    rejectedOf: (number) => apartOf(session).rejectedOf(number),
    write: (slice, bytes) => apartOf(session).write(slice, bytes, stageSlice(session)),
    commit: (outcomes, manifest) => commit(session, outcomes, manifest),
    abort: () => {
      session.apart = undefined;
      return clear(session);
    },
    tidyUp: () => clear(session),
    close: () => connection.close(),
  };
  return openStagedSink(work, redshiftError, deps.log);
}

async function isDelivered({ dialect, delivery }: Session): Promise<boolean> {
  return (await findReceipt(dialect, delivery.delivery_id)) !== undefined;
}

async function prepare(session: Session): Promise<void> {
  const { dialect, delivery, told } = session;
  session.found = (await prepareTables(dialect, delivery, told)).found;
  session.supers = supersOf(delivery.columns, session.found);
}

function apartOf(session: Session): Apart {
  return (session.apart ??= openApart(
    session,
    () => prepare(session),
    () => openApartStage(session),
  ));
}

function stageSlice(session: Session) {
  return async (slice: Slice, bytes: Readable): Promise<Json> => {
    const { records, state } = await session.stage.write(session, slice, bytes);
    requireCame(slice, records);
    return state;
  };
}

/** Uses inserts in both modes: a piece of a few rows needs no load. */
async function openApartStage(session: Session): Promise<ApartStage> {
  const { connection, delivery } = session;
  const table = `sluice_apart_${randomBytes(6).toString('hex')}`;
  await connection.rows(apartStatement(table, delivery.columns, session.found));
  return {
    table,
    send: sendByPart(async (slice, bytes) =>
      requireCame(slice, await insertRows(session, { table }, bytes)),
    ),
  };
}

/**
 * The receipt of a repeat replaces the earlier one, so that the place has the newest run's
 * signature.
 */
async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  const { connection, dialect, delivery, standing } = session;
  const { target } = dialect;
  await unlessGone(async () => {
    const source = await load(session, outcomes);
    const show = async () => {
      // The first statement: the first read fixes the transaction's snapshot, and that must come
      // after the lock.
      await waiting(connection, receipts_name, () =>
        connection.rows(`LOCK TABLE ${target.receipts}`),
      );
      const is_repeat = await isDelivered(session);
      standing.may_show = is_repeat;
      const isLate = is_repeat && !standing.is_delivered;
      if (isLate && delivery.rejects !== undefined) throw takenOver();
      const replacing = openReplacing(dialect, delivery);
      if (!is_repeat) {
        await replacing.find();
        await replacing.clear();
      }
      if (source !== undefined && !isLate)
        for (const statement of showStatements(target, delivery, source, session.found))
          await connection.rows(statement);
      await apartOf(session).show();
      await replacing.removeReceipts();
      await writeReceipt(dialect, delivery, {
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

async function load(session: Session, outcomes: SliceOutcome[]): Promise<string | undefined> {
  const { connection, delivery, standing, stage } = session;
  const source =
    standing.is_delivered || delivery.rejects !== undefined
      ? apartOf(session).rows()
      : { table: await stage.load(session, outcomes), records: recordsIn(outcomes) };
  if (source !== undefined) await requireStaged(connection, source.table, source.records);
  return source?.table;
}

/** Searches the tables in any mode: it may have been another one when an earlier attempt began. */
async function clear(session: Session): Promise<void> {
  await dropSliceTables(session);
  await session.stage.clear();
}
