import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { isOnly } from '../../model/destination/destination.ts';
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
import { isGeneration } from '../sql_tables/generations.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { prepareTables } from '../sql_tables/prepare.ts';
import { newStanding, openStagedSink, recordsIn } from '../sql_tables/staged_sink.ts';
import type { StagedDelivery, Standing } from '../sql_tables/staged_sink.ts';
import { stageName } from '../sql_tables/stages.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import { clickHouseDialect } from './dialect.ts';
import { clickHouseError } from './faults.ts';
import { withFaults } from '../../model/destination/faults.ts';
import { findReceipt, writeReceipt } from './receipts.ts';
import { eraseRows } from './erase.ts';
import { dropNext, isStanding, removeReplaced, replaceTable } from './replace.ts';
import { lookAround } from './look.ts';
import type { Look } from './look.ts';
import { announceStage, showStage, takeBack, takeStageBack } from './show.ts';
import type { ShownStage } from './show.ts';
import {
  dropStages,
  dropTable,
  insertSlice,
  joinSlices,
  takeSlicesOver,
  wholeStage,
  writeSlice,
} from './slices.ts';
import type { Partition } from './slices.ts';
import { createStage } from './stage.ts';
import { checkTable } from './table.ts';
import type { Session } from './session.ts';

/** Opens an attempt; it changes nothing yet, except for the removal of leftovers. */
export async function openClickHouseSink(
  config: ClickHouseConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  let look: Look | undefined;
  const connection = await withFaults(clickHouseError, () =>
    connect(config, deps, async (reached) => (look = await lookAround(reached, delivery)).version),
  );
  const session: Session = {
    connection,
    delivery,
    stage: { table: stageName(delivery), id: randomUUID() },
    target: undefined,
    stages: undefined,
    has_slices: false,
    look,
    written: undefined,
    delivered_stage_id: look?.delivered_stage_id,
  };
  const standing = newStanding();
  const work: StagedDelivery = {
    name: connection.target.name,
    delivery,
    standing,
    begin: async () => session.delivered_stage_id !== undefined,
    prepare: () => prepare(session, deps),
    recover: (outcomes) => recover(session, outcomes),
    write: (slice, bytes) => write(session, slice, bytes),
    commit: (outcomes, manifest) => commit(session, standing, outcomes, manifest),
    abort: () => abort(session),
    tidyUp: () => tidyUp(session),
    close: () => connection.close(),
  };
  return openStagedSink(work, clickHouseError, deps.log);
}

async function prepare(session: Session, deps: DestinationDeps): Promise<void> {
  const { connection, delivery } = session;
  const dialect = clickHouseDialect(connection);
  // An aborted attempt reads the state again.
  const look = session.look ?? (await lookAround(connection, delivery));
  session.look = undefined;
  const asked = new Set<string>();
  let is_changed = false;
  const checking: Dialect = {
    ...dialect,
    // A table that was created or altered meanwhile is read again.
    findColumns: async (table) => {
      is_changed ||= asked.has(table);
      if (asked.has(table)) return dialect.findColumns(table);
      asked.add(table);
      return look.columns.get(table);
    },
    checkTable: async (layout, found) => {
      const known = is_changed ? undefined : look.target;
      session.target = await checkTable(connection, layout, found, known);
      return undefined;
    },
  };
  await prepareTables(checking, delivery, deps);
  session.stages = is_changed ? undefined : look.stages;
}

async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  const { connection, delivery } = session;
  const taken = await takeSlicesOver(session, outcomes);
  await createStage(connection, session.target!, delivery, session.stage);
  session.has_slices = taken.length > 0;
  session.written = undefined;
  return taken;
}

async function write(session: Session, slice: Slice, bytes: Readable): Promise<Json> {
  if (!isOnly(slice)) {
    session.has_slices = true;
    return writeSlice(session, slice, bytes);
  }
  // A single slice is always repeated after a crash, so it needs no table beside the stage.
  const isFirst = session.written === undefined;
  session.written = 0;
  const written = await insertSlice(session, session.stage.table, bytes);
  if (isFirst) session.written = written;
  return null;
}

/** The receipt of a repeat is written beside the earlier one; the newest counts. */
async function commit(
  session: Session,
  standing: Standing,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  const { connection, delivery } = session;
  const records = recordsIn(outcomes);
  const isReplacing = isGeneration(delivery);
  const { stage_id, is_shown, partitions } = await stageToShow(session, outcomes);
  await commitKnowingly(standing, manifest, {
    commit: async () => {
      if (!is_shown) await (isReplacing ? replaceTable : showStage)(session, partitions);
      await writeReceipt(connection, delivery, { stage_id, records, manifest: manifest.text });
      if (isReplacing) await removeReplaced(session);
    },
    answerOf: answerOfCommit,
    isThere: async ({ text }) => {
      if ((await findReceipt(connection, delivery))?.manifest === text) return true;
      if (is_shown || (isReplacing && (await isStanding(session))))
        throw new Error('The rows are shown.');
      if (!isReplacing) await takeStageBack(session);
      return false;
    },
  });
  session.delivered_stage_id = stage_id;
}

/** Moves the rows of an uncommitted delivery into one stage, and returns its partitions. */
async function stageToShow(
  session: Session,
  outcomes: SliceOutcome[],
): Promise<ShownStage & { partitions: Partition[] }> {
  const { delivered_stage_id: stage_id, delivery } = session;
  if (stage_id === undefined) {
    if (session.has_slices) await joinSlices(session, outcomes);
    const partitions = await wholeStage(session, outcomes);
    if (isGeneration(delivery))
      return { stage_id: session.stage.id, is_shown: await isStanding(session), partitions };
    return { ...(await announceStage(session, recordsIn(outcomes))), partitions };
  }
  if (delivery.erased !== undefined) await eraseRows(session, delivery.erased);
  return { stage_id, is_shown: true, partitions: [] };
}

/**
 * Errors after which the server, or another one of its cluster, may still execute the statement.
 */
const unknown_ends = new Set([
  'ABORTED',
  'ALL_CONNECTION_TRIES_FAILED',
  'KEEPER_EXCEPTION',
  'NETWORK_ERROR',
  'SOCKET_TIMEOUT',
  'UNFINISHED',
  'UNKNOWN_STATUS_OF_INSERT',
]);

/**
 * Judges the error of a statement that shows rows: ClickHouse has no transactions, so after its own
 * error, the code looks for the rows and the receipt.
 */
function answerOfCommit(error: unknown): CommitAnswer {
  const { type } = error as { type?: unknown };
  return typeof type === 'string' && !unknown_ends.has(type) ? 'ended' : 'nothing';
}

/** Removes the stage of the delivery: this attempt's, or that of a killed one. */
async function tidyUp(session: Session): Promise<void> {
  await (session.target === undefined || session.has_slices
    ? dropStages(session, [])
    : dropTable(session.connection, session.stage.table));
  await dropNext(session);
}

async function abort(session: Session): Promise<void> {
  await dropStages(session, []);
  await dropNext(session);
  session.target = undefined;
  session.has_slices = false;
  if (session.delivered_stage_id === undefined) await takeBack(session);
}
