import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from '../../../platform/log.ts';
import { RetryableError } from '../../destination.ts';
import type { Delivery, DestinationDeps, Manifest, Sink, Slice, SliceOutcome } from '../../destination.ts';
import { identifier } from '../../formats/expression.ts';
import { inDatabase, stage_prefix, targetOf } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { clickHouseError, withClickHouseErrors } from './faults.ts';
import { findReceipt, writeReceipt } from './receipts.ts';
import { showStage, takeBack } from './show.ts';
import { findTable, listTables, makeStage, prepareTables } from './table.ts';

/**
 * One attempt at a delivery. `stage` is its own table, which nobody else writes to; `delivered_stage_id` names the stage whose rows are in the target with a
 * receipt.
 */
export type Session = {
  connection: Connection;
  config: ClickHouseConfig;
  delivery: Delivery;
  log: Logger;
  stage: { table: string; id: string };
  staged_records: number;
  is_prepared: boolean;
  delivered_stage_id: string | undefined;
};

/** Opens an attempt: finds whether the delivery is there already, and then removes what is left of its stages; otherwise nothing is changed yet. */
export async function openClickHouseSink(config: ClickHouseConfig, delivery: Delivery, deps: DestinationDeps): Promise<Sink> {
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

async function openSession(config: ClickHouseConfig, delivery: Delivery, deps: DestinationDeps): Promise<Session> {
  const connection = await connect(config, deps);
  try {
    const id = randomUUID();
    const stage = { table: `${stagePrefix(delivery)}${id.slice(0, 8)}`, id };
    const receipt = (await findTable(connection, config, 'sluice_receipts')) && (await findReceipt(connection, config, delivery));
    const delivered_stage_id = receipt?.stage_id;
    const session: Session = { connection, config, delivery, log: deps.log, stage, staged_records: 0, is_prepared: false, delivered_stage_id };
    // A worker that was killed right after its receipt has left its stage.
    if (delivered_stage_id !== undefined) await tidyUp(session);
    return session;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function stagePrefix(delivery: Delivery): string {
  return `${stage_prefix}${delivery.delivery_id.replaceAll('-', '')}_`;
}

/** What a dead attempt has staged is written again: an insert of it may still be under way and would double a slice. */
async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  if (session.delivered_stage_id !== undefined) return outcomes;
  await prepare(session);
  return [];
}

async function prepare(session: Session): Promise<void> {
  if (session.is_prepared) return;
  const { connection, config, delivery, stage } = session;
  await dropStages(session);
  await makeStage(connection, config, await prepareTables(connection, config, delivery), stage);
  session.is_prepared = true;
}

/**
 * The fence against an attempt that was believed dead: without its stage table it can show nothing any more. SYNC waits until nothing uses the table, so what it was
 * showing at this moment is there or not when this returns, and stays so.
 */
async function dropStages({ connection, config, delivery }: Session): Promise<void> {
  for (const table of await listTables(connection, config, stagePrefix(delivery))) {
    await connection.command(`DROP TABLE IF EXISTS ${inDatabase(config, table)} SYNC`);
  }
}

/** Rows of a delivery that is there already are read and left aside: they are in the table since its receipt is. */
async function write(session: Session, slice: Slice, bytes: Readable): Promise<{ name: string; state: null }> {
  const { connection, config, delivery, stage } = session;
  const { name } = targetOf(config);
  try {
    if (session.delivered_stage_id !== undefined) {
      await pipeline(bytes, new Writable({ write: (_chunk, _encoding, callback) => callback() }));
      return { name, state: null };
    }
    await prepare(session);
    const columns = delivery.columns.map((column) => identifier(column.name)).join(', ');
    await connection.insert(`INSERT INTO ${inDatabase(config, stage.table)} (${columns}) FORMAT CSVWithNames`, bytes, { encoding: 'zstd' });
    await requireRecords(session, slice);
    return { name, state: null };
  } finally {
    bytes.destroy();
  }
}

async function requireRecords(session: Session, slice: Slice): Promise<void> {
  session.staged_records += slice.records;
  const [row] = await session.connection.rows<{ records: number }>(`SELECT count() AS records FROM ${inDatabase(session.config, session.stage.table)}`);
  if (row?.records === session.staged_records) return;
  throw new RetryableError(
    'count_mismatch',
    `With slice ${slice.number} the stage table should hold ${session.staged_records} rows, but it holds ${row?.records ?? 0}; the delivery begins again.`,
  );
}

/** The receipt of a repeat is written beside the earlier one; the newest counts. */
async function commit(session: Session, outcomes: SliceOutcome[], manifest: Manifest): Promise<void> {
  const { connection, config, delivery } = session;
  const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
  let stageId = session.delivered_stage_id;
  if (stageId === undefined) {
    await prepare(session);
    stageId = await showStage(session, records);
  }
  await writeReceipt(connection, config, delivery, { stage_id: stageId, records, manifest: manifest.text });
  session.delivered_stage_id = stageId;
  await tidyUp(session);
}

/** The delivery is there and whole by now, so a fault in removing what is left of it is no fault of the delivery. */
async function tidyUp(session: Session): Promise<void> {
  try {
    await dropStages(session);
  } catch (error) {
    session.log.warn({ err: clickHouseError(error), delivery_id: session.delivery.delivery_id }, 'stage tables of a committed delivery could not be removed');
  }
}

async function abort(session: Session): Promise<void> {
  await dropStages(session);
  session.is_prepared = false;
  if (session.delivered_stage_id === undefined) await takeBack(session);
}
