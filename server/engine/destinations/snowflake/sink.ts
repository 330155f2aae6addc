import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Logger } from '../../../platform/log.ts';
import { isOnly } from '../../model/destination/destination.ts';
import { RetryableError } from '../../model/destination/errors.ts';
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
import type { CommitAnswer } from '../sql_tables/commit.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { openReplacing } from '../sql_tables/generations.ts';
import { columnList, isMerged } from '../sql_tables/layout.ts';
import { measured } from '../sql_tables/measured.ts';
import { prepareTables } from '../sql_tables/prepare.ts';
import { findReceipt, receipts_table } from '../sql_tables/receipts.ts';
import { openApart } from '../sql_tables/rejected/apart.ts';
import type { Apart, ApartStage } from '../sql_tables/rejected/apart.ts';
import { newStanding, openStagedSink, recordsIn, requireCame } from '../sql_tables/staged_sink.ts';
import type { StagedDelivery, Standing } from '../sql_tables/staged_sink.ts';
import type { SnowflakeConfig } from './config.ts';
import { SnowflakeFault } from './client.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { snowflakeDialect } from './dialect.ts';
import { snowflakeError } from './faults.ts';
import { withFaults } from '../../model/destination/faults.ts';
import { openLoader, textColumn } from './load.ts';
import type { Loader } from './load.ts';
import { claim, dropClaims, holdClaims, writeReceipt } from './receipts.ts';
import { dropStages, openStage, openTemporaryStage, takeOver } from './stage.ts';
import type { Stage } from './stage.ts';
import { showStatement, typesOf, valueExpression } from './table.ts';
import type { TableColumns } from './table.ts';
import { counted } from '../../../platform/counted.ts';

/**
 * One attempt at a delivery. The columns of the table are known once it is prepared; `loader` and
 * `stage` are set from the first slice on, or earlier for an earlier attempt's stage.
 */
type Session = {
  connection: Connection;
  dialect: Dialect;
  delivery: Delivery;
  log: Logger;
  attempt_id: string;
  standing: Standing;
  columns: TableColumns;
  loader: Loader | undefined;
  stage: Stage | undefined;
  told: Pick<DestinationDeps, 'warn' | 'refuseLoss'>;
  /** The rows of a delivery that sets some aside, and the rows set aside. */
  apart: Apart | undefined;
};

/** Opens an attempt; it changes nothing yet, except for the removal of leftovers. */
export async function openSnowflakeSink(
  config: SnowflakeConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const connection = await withFaults(snowflakeError, () => connect(config, deps));
  const dialect = snowflakeDialect(connection);
  const session: Session = {
    connection,
    dialect,
    delivery,
    log: deps.log,
    attempt_id: randomUUID(),
    standing: newStanding(),
    columns: new Map(),
    loader: undefined,
    stage: undefined,
    told: deps,
    apart: undefined,
  };
  const work: StagedDelivery = {
    name: connection.target.name,
    delivery,
    standing: session.standing,
    begin: async () => (await findReceipt(dialect, delivery.delivery_id)) !== undefined,
    prepare: () => prepare(session),
    recover: (outcomes) => recover(session, delivery.rejects === undefined ? outcomes : []),
    readsAgain: true,
    rejectedOf: (number) => apartOf(session).rejectedOf(number),
    write: (slice, bytes) => apartOf(session).write(slice, bytes, stageSlice(session)),
    commit: (outcomes, manifest) => commit(session, outcomes, manifest),
    abort: () => abort(session),
    tidyUp: () => dropStages(session),
    close: () => connection.close(),
  };
  return openStagedSink(work, snowflakeError, deps.log);
}

async function prepare(session: Session): Promise<void> {
  const { dialect, delivery, told } = session;
  session.columns = typesOf((await prepareTables(dialect, delivery, told)).found);
}

async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  const { connection, delivery, attempt_id } = session;
  // Claimed first: from now on, the earlier attempt can show nothing of its stage.
  await claim(connection, delivery, attempt_id);
  const taken = await takeOver(session, outcomes);
  session.stage = taken?.stage;
  return taken?.whole ?? [];
}

/**
 * The stage has the target's own types, so that it refuses a value that does not fit during the
 * writing of slices and not in the commit.
 */
async function prepareStage(session: Session, isOnly: boolean): Promise<Stage> {
  session.stage ??= isOnly ? undefined : await openStage(session);
  session.stage ??= await openTemporaryStage(session);
  return session.stage;
}

function stageSlice(session: Session) {
  return async (slice: Slice, bytes: Readable): Promise<Json> => {
    const stage = await prepareStage(session, isOnly(slice));
    let slice_bytes = 0;
    const counted = measured(bytes, (size) => (slice_bytes += size));
    const { table } = await load(session, slice, counted);
    const write = await insert(session, stage, table);
    return write === undefined ? null : { write, slice_bytes };
  };
}

async function load(session: Session, slice: Slice, bytes: Readable): Promise<Loader> {
  const loader = (session.loader ??= await openLoader(session.connection));
  const loaded = await loader.load(session.delivery.columns, bytes);
  requireCame(slice, loaded, `Snowflake took ${loaded}`);
  return loader;
}

/** Inserts the rows of a table of text, all or none. */
function insert({ delivery, columns }: Session, stage: Stage, from: string) {
  const values = delivery.columns
    .map((column, index) => valueExpression(column, textColumn(index), columns))
    .join(', ');
  return stage.insert({ columns: columnList(delivery.columns), values, from });
}

function apartOf(session: Session): Apart {
  return (session.apart ??= openApart(
    session,
    () => prepare(session),
    () => openApartStage(session),
  ));
}

/** A table like the target refuses the same rows: by types, lengths, nulls, checks. */
async function openApartStage(session: Session): Promise<ApartStage> {
  const stage = await openTemporaryStage(session);
  return {
    table: stage.rowsOf([]),
    send: async (number, lines) => {
      const records = lines.length;
      const loader = await load(session, { number, records }, Readable.from(lines));
      return async (from, to) => {
        const isWhole = to - from === records;
        await insert(session, stage, isWhole ? loader.table : await loader.copyPart(from, to));
      };
    },
  };
}

/**
 * One transaction: the lock on the rows of this delivery, its data, its rejected rows, its receipt.
 */
async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  const { connection, dialect, delivery, attempt_id, standing } = session;
  const { is_delivered } = standing;
  const records = recordsIn(outcomes);
  const replacing = openReplacing(dialect, delivery);
  const source = await sourceOf(session, outcomes);
  await connection.rows('BEGIN TRANSACTION');
  try {
    const { is_shown } = await holdClaims(connection, delivery, {
      id: attempt_id,
      is_delivered,
    });
    standing.may_show = is_shown;
    if (!is_shown) {
      await replacing.find();
      await replacing.clear();
    }
    if (!is_shown || is_delivered) {
      if (source !== undefined) await show(session, source);
      await apartOf(session).show();
    }
    await replacing.removeReceipts();
    await writeReceipt(connection, delivery, attempt_id, {
      records,
      manifest: manifest.text,
    });
    await commitKnowingly(standing, manifest, {
      commit: () => connection.rows('COMMIT'),
      answerOf: answerOfCommit,
      isThere: async ({ text }) => {
        await connection.rows('ROLLBACK');
        return (await findReceipt(dialect, delivery.delivery_id)) === text;
      },
    });
  } catch (error) {
    await connection
      .rows('ROLLBACK')
      .catch((fault: unknown) =>
        session.log.warn({ err: fault }, 'a transaction was left to the server to roll back'),
      );
    throw error;
  }
}

/**
 * Judges the error of a COMMIT. After an error of the account, the session continues, so the
 * receipt can be read back. Without an answer, or if the session has ended, the statement may
 * continue.
 */
function answerOfCommit(error: unknown): CommitAnswer {
  if (!(error instanceof SnowflakeFault)) return 'nothing';
  const { code, status, cause_code } = error.fault;
  const isOfAccount = status === undefined && cause_code === undefined && /^\d{1,6}$/.test(code);
  // The numbers from 400001 on are the client's own, 390000 to 390999 belong to the session.
  return isOfAccount && Number(code) < 390_000 ? 'ended' : 'nothing';
}

/** Returns the rows to show, as the text after FROM; undefined if there are none. */
async function sourceOf(
  session: Session,
  outcomes: SliceOutcome[],
): Promise<{ table: string; records: number } | undefined> {
  if (session.standing.is_delivered || session.delivery.rejects !== undefined)
    return apartOf(session).rows();
  const stage = await prepareStage(session, true);
  return { table: stage.rowsOf(outcomes), records: recordsIn(outcomes) };
}

async function show(
  { connection, delivery }: Session,
  { table, records }: { table: string; records: number },
): Promise<void> {
  const [answer] = await connection.rows<Record<string, number>>(
    showStatement(connection.target.quoted, table, delivery),
  );
  const shown = answer?.['number of rows inserted'] ?? 0;
  if (!isMerged(delivery) && shown !== records)
    throw new RetryableError(
      'count_mismatch',
      `The delivery has ${counted(records, 'row')}, but Snowflake would show ${shown}. ` +
        'Sluice delivers it again.',
    );
}

async function abort(session: Session): Promise<void> {
  session.apart = undefined;
  if (session.standing.is_delivered) return;
  await dropStages(session);
  if ((await session.dialect.findColumns(receipts_table)) !== undefined)
    await dropClaims(session.connection, session.delivery);
  session.stage = undefined;
}
