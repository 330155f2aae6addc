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
import { newStanding, openStagedSink, recordsIn } from '../../sql_tables/staged_sink.ts';
import type { StagedDelivery } from '../../sql_tables/staged_sink.ts';
import { stageName } from '../../sql_tables/stages.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import { clickHouseError } from './faults.ts';
import { withFaults } from '../../destination/faults.ts';
import { findReceipt, writeReceipt } from './receipts.ts';
import { eraseRows } from './erase.ts';
import { showStage, takeBack } from './show.ts';
import { dropStages, insertSlice, joinSlices, takeSlicesOver, writeSlice } from './slices.ts';
import { findTable, createStage, prepareTables } from './table.ts';
import type { Table } from './table.ts';
import type { Session } from './session.ts';

/** Opens an attempt; nothing is changed yet, but that what is there already is tidied up. */
export async function openClickHouseSink(
  config: ClickHouseConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const connection = await withFaults(clickHouseError, () => connect(config, deps));
  const session: Session = {
    connection,
    delivery,
    stage: { table: stageName(delivery), id: randomUUID() },
    target: undefined,
    has_slices: false,
    delivered_stage_id: undefined,
  };
  const standing = newStanding();
  const work: StagedDelivery = {
    name: connection.target.name,
    delivery,
    standing,
    begin: () => isDelivered(session),
    recover: (outcomes) => recover(session, outcomes),
    write: (slice, bytes) => write(session, slice, bytes),
    commit: async (outcomes, manifest) => {
      // Without transactions an error does not say what is shown.
      standing.may_show = true;
      await commit(session, outcomes, manifest);
    },
    abort: () => abort(session),
    tidyUp: () => dropStages(session, []),
    close: () => connection.close(),
  };
  return openStagedSink(work, clickHouseError, deps.log);
}

async function isDelivered(session: Session): Promise<boolean> {
  const { connection, delivery } = session;
  if ((await findTable(connection, 'sluice_receipts')) === undefined) return false;
  session.delivered_stage_id = (await findReceipt(connection, delivery))?.stage_id;
  return session.delivered_stage_id !== undefined;
}

async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  const { connection, delivery } = session;
  const target = await prepareTables(connection, delivery);
  const taken = await takeSlicesOver(session, outcomes);
  await createStage(connection, target, session.stage);
  session.target = target;
  session.has_slices = taken.length > 0;
  return taken;
}

async function prepare(session: Session): Promise<Table> {
  if (session.target === undefined) await recover(session, []);
  return session.target!;
}

async function write(session: Session, slice: Slice, bytes: Readable): Promise<Json> {
  const target = await prepare(session);
  if (!isOnly(slice)) {
    session.has_slices = true;
    return writeSlice(session, target, slice, bytes);
  }
  // What is the only slice is repeated after a crash in any case, so it needs no table beside the
  // stage.
  await insertSlice(session, session.stage.table, slice, bytes);
  return null;
}

/** The receipt of a repeat is written beside the earlier one; the newest counts. */
async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  const { connection, delivery } = session;
  const records = recordsIn(outcomes);
  let stageId = session.delivered_stage_id;
  if (stageId === undefined) {
    await prepare(session);
    if (session.has_slices) await joinSlices(session, outcomes);
    stageId = await showStage(session, records);
  } else if (delivery.erased !== undefined) {
    await eraseRows(session, delivery.erased);
  }
  await writeReceipt(connection, delivery, {
    stage_id: stageId,
    records,
    manifest: manifest.text,
  });
  session.delivered_stage_id = stageId;
}

async function abort(session: Session): Promise<void> {
  await dropStages(session, []);
  session.target = undefined;
  session.has_slices = false;
  if (session.delivered_stage_id === undefined) await takeBack(session);
}
