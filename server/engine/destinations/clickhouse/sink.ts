import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { isOnly } from '../../destination/destination.ts';
import type {
  Delivery,
  DestinationDeps,
  Json,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
} from '../../destination/destination.ts';
import { leaveAside, recordsIn } from '../../sql_tables/staged_sink.ts';
import { stageName } from '../../sql_tables/stages.ts';
import { targetOf } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import { clickHouseError, withClickHouseErrors } from './faults.ts';
import { findReceipt, writeReceipt } from './receipts.ts';
import { showStage, takeBack } from './show.ts';
import { dropStages, insertSlice, joinSlices, takeSlicesOver, writeSlice } from './slices.ts';
import { findTable, makeStage, prepareTables } from './table.ts';
import type { Table } from './table.ts';
import type { Session } from './session.ts';

/**
 * Opens an attempt: finds whether the delivery is there already, and then removes what is left of
 * its stages; otherwise nothing is changed yet.
 */
export async function openClickHouseSink(
  config: ClickHouseConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const session = await withClickHouseErrors(() => openSession(config, delivery, deps));
  return {
    isCommitted: async () => session.delivered_stage_id !== undefined,
    recover: (outcomes) => withClickHouseErrors(() => recover(session, outcomes)),
    write: (slice, bytes) => withClickHouseErrors(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) => withClickHouseErrors(() => commit(session, outcomes, manifest)),
    abort: () => withClickHouseErrors(() => abort(session)),
    close: () => session.connection.close(),
  };
}

async function openSession(
  config: ClickHouseConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Session> {
  const connection = await connect(config, deps);
  try {
    const stage = { table: stageName(delivery), id: randomUUID() };
    const receipt =
      (await findTable(connection, config, 'sluice_receipts')) &&
      (await findReceipt(connection, config, delivery));
    const delivered_stage_id = receipt?.stage_id;
    const session: Session = {
      connection,
      config,
      delivery,
      log: deps.log,
      stage,
      target: undefined,
      has_slices: false,
      delivered_stage_id,
    };
    // A worker that was killed right after its receipt has left its stage.
    if (delivered_stage_id !== undefined) await tidyUp(session);
    return session;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  if (session.delivered_stage_id !== undefined) return outcomes;
  const { connection, config, delivery } = session;
  const target = await prepareTables(connection, config, delivery);
  const taken = await takeSlicesOver(session, outcomes);
  await makeStage(connection, config, target, session.stage);
  session.target = target;
  session.has_slices = taken.length > 0;
  return taken;
}

async function prepare(session: Session): Promise<Table> {
  if (session.target === undefined) await recover(session, []);
  return session.target!;
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
  const { config, stage } = session;
  const { name } = targetOf(config);
  try {
    if (session.delivered_stage_id !== undefined) {
      await leaveAside(bytes);
      return { name, state: null };
    }
    const target = await prepare(session);
    if (!isOnly(slice)) {
      session.has_slices = true;
      return { name, state: await writeSlice(session, target, slice, bytes) };
    }
    // What is the only slice is repeated after a crash in any case, so it needs no table beside the
    // stage.
    await insertSlice(session, stage.table, slice, bytes);
    return { name, state: null };
  } finally {
    bytes.destroy();
  }
}

/** The receipt of a repeat is written beside the earlier one; the newest counts. */
async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  const { connection, config, delivery } = session;
  const records = recordsIn(outcomes);
  let stageId = session.delivered_stage_id;
  if (stageId === undefined) {
    await prepare(session);
    if (session.has_slices) await joinSlices(session, outcomes);
    stageId = await showStage(session, records);
  }
  await writeReceipt(connection, config, delivery, {
    stage_id: stageId,
    records,
    manifest: manifest.text,
  });
  session.delivered_stage_id = stageId;
  await tidyUp(session);
}

/**
 * The delivery is there and whole by now, so a fault in removing what is left of it is no fault of
 * the delivery.
 */
async function tidyUp(session: Session): Promise<void> {
  try {
    await dropStages(session, []);
  } catch (error) {
    session.log.warn(
      { err: clickHouseError(error), delivery_id: session.delivery.delivery_id },
      'stage tables of a committed delivery could not be removed',
    );
  }
}

async function abort(session: Session): Promise<void> {
  await dropStages(session, []);
  session.target = undefined;
  session.has_slices = false;
  if (session.delivered_stage_id === undefined) await takeBack(session);
}
