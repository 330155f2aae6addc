import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from '../../../platform/log.ts';
import { RetryableError } from '../../destination.ts';
import type { Delivery, DestinationDeps, Manifest, Sink, Slice, SliceOutcome } from '../../destination.ts';
import { isMerged, quoted } from '../../sql_tables/layout.ts';
import { targetOf } from './config.ts';
import type { SnowflakeConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withSnowflakeErrors } from './faults.ts';
import { openLoader, temporaryName, textColumn } from './load.ts';
import type { Loader } from './load.ts';
import { claim, dropClaims, findReceipt, hasReceipts, holdClaims, writeReceipt } from './receipts.ts';
import { prepareTables, showStatement, valueExpression } from './table.ts';
import type { TableColumns } from './table.ts';

/** What an attempt has made: the rows of the finished slices stand in a temporary table like the target. */
type Prepared = { loader: Loader; stage: string; columns: TableColumns };

/** One attempt at a delivery. `prepared` is there from the first write on. */
type Session = {
  connection: Connection;
  config: SnowflakeConfig;
  delivery: Delivery;
  log: Logger;
  attempt_id: string;
  is_delivered: boolean;
  prepared: Prepared | undefined;
};

/** Opens an attempt: finds whether the delivery is there already; nothing is changed yet. What it stages is temporary, so a dead attempt leaves a line among the receipts at most. */
export async function openSnowflakeSink(config: SnowflakeConfig, delivery: Delivery, deps: DestinationDeps): Promise<Sink> {
  const session = await withSnowflakeErrors(() => openSession(config, delivery, deps));
  return {
    isCommitted: async () => session.is_delivered,
    recover: (outcomes) => withSnowflakeErrors(() => recover(session, outcomes)),
    write: (slice, bytes) => withSnowflakeErrors(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) => withSnowflakeErrors(() => commit(session, outcomes, manifest)),
    abort: () => withSnowflakeErrors(() => abort(session)),
    close: () => session.connection.close(),
  };
}

async function openSession(config: SnowflakeConfig, delivery: Delivery, deps: DestinationDeps): Promise<Session> {
  const connection = await connect(config, deps);
  try {
    const is_delivered = (await hasReceipts(connection, config)) && (await findReceipt(connection, config, delivery.delivery_id)) !== undefined;
    return { connection, config, delivery, log: deps.log, attempt_id: randomUUID(), is_delivered, prepared: undefined };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** What a dead attempt has staged is gone with its session. The tables are made and checked here, before the engine opens the query that would wait for them. */
async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  if (session.is_delivered) return outcomes;
  await prepare(session);
  return [];
}

/** The temporary table has the target's own types, so a value that does not fit is refused while slices are written and not in the commit. */
async function prepare(session: Session): Promise<Prepared> {
  if (session.prepared !== undefined) return session.prepared;
  const { connection, config, delivery, attempt_id } = session;
  const columns = await prepareTables(connection, config, delivery);
  await claim(connection, config, delivery, attempt_id);
  const stage = quoted(temporaryName('rows'));
  await connection.rows(`CREATE TEMPORARY TABLE ${stage} LIKE ${targetOf(config).quoted}`);
  session.prepared = { loader: await openLoader(connection), stage, columns };
  return session.prepared;
}

/** Rows of a delivery that is there already are read and left aside: they are in the table since its receipt is. */
async function write(session: Session, slice: Slice, bytes: Readable): Promise<{ name: string; state: null }> {
  const { connection, config, delivery } = session;
  const { name } = targetOf(config);
  try {
    if (session.is_delivered) {
      await pipeline(bytes, new Writable({ write: (_chunk, _encoding, callback) => callback() }));
      return { name, state: null };
    }
    const { loader, stage, columns } = await prepare(session);
    const loaded = await loader.load(delivery.columns, bytes);
    if (loaded !== slice.records)
      throw new RetryableError('count_mismatch', `Slice ${slice.number} has ${slice.records} rows, but Snowflake took ${loaded}; it is written again.`);
    const list = delivery.columns.map((column) => quoted(column.name)).join(', ');
    const values = delivery.columns.map((column, index) => valueExpression(column, textColumn(index), columns)).join(', ');
    await connection.rows(`INSERT INTO ${stage} (${list}) SELECT ${values} FROM ${loader.table}`);
    return { name, state: null };
  } finally {
    bytes.destroy();
  }
}

/** One transaction: the lock on the lines of this delivery, its rows, its receipt. */
async function commit(session: Session, outcomes: SliceOutcome[], manifest: Manifest): Promise<void> {
  const { connection, config, delivery, attempt_id, is_delivered } = session;
  const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
  const prepared = is_delivered ? undefined : await prepare(session);
  await connection.rows('BEGIN TRANSACTION');
  try {
    const { is_shown } = await holdClaims(connection, config, delivery, { id: attempt_id, is_delivered });
    if (!is_shown && prepared !== undefined) await show(session, prepared, records);
    await writeReceipt(connection, config, delivery, attempt_id, { records, manifest: manifest.text });
    await connection.rows('COMMIT');
  } catch (error) {
    await connection.rows('ROLLBACK').catch((fault: unknown) => session.log.warn({ err: fault }, 'a transaction was left to the server to roll back'));
    throw error;
  }
  session.is_delivered = true;
}

async function show({ connection, config, delivery }: Session, { stage }: Prepared, records: number): Promise<void> {
  const [answer] = await connection.rows<Record<string, number>>(showStatement(targetOf(config).quoted, stage, delivery));
  const shown = answer?.['number of rows inserted'] ?? 0;
  if (!isMerged(delivery) && shown !== records)
    throw new RetryableError('count_mismatch', `The delivery has ${records} rows, but Snowflake would show ${shown}; it is made again.`);
}

async function abort(session: Session): Promise<void> {
  if (session.is_delivered) return;
  await dropClaims(session.connection, session.config, session.delivery);
  session.prepared = undefined;
}
