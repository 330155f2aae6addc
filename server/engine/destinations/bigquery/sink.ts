import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from '../../../platform/log.ts';
import type {
  Delivery,
  DestinationDeps,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
} from '../../destination/destination.ts';
import { openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { endCommits, findReceipt, replaceReceipt, showRows } from './commit.ts';
import { targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { bigQueryError, withBigQueryErrors } from './faults.ts';
import { dropStages, isStaged, joinedStages, stageSlice } from './stage.ts';
import type { StageState } from './stage.ts';
import { prepareTables } from './table.ts';

/** One attempt at a delivery. `json_columns` is known when the tables are prepared. */
type Session = {
  dataset: Dataset;
  delivery: Delivery;
  log: Logger;
  is_delivered: boolean;
  json_columns: ReadonlySet<string> | undefined;
};

/**
 * Opens an attempt: signs in, and finds whether the delivery is there already. Nothing is changed
 * yet.
 */
export async function openBigQuerySink(
  config: BigQueryConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const explained = <Result>(work: () => Promise<Result>) =>
    withBigQueryErrors(config, deps.signal, work);
  const session = await explained(async (): Promise<Session> => {
    const dataset = await openDataset(config, deps);
    const is_delivered = (await findReceipt(dataset, delivery.delivery_id)) !== undefined;
    return { dataset, delivery, log: deps.log, is_delivered, json_columns: undefined };
  });
  return {
    isCommitted: async () => session.is_delivered,
    recover: (outcomes) => explained(() => recover(session, outcomes)),
    write: (slice, bytes) => explained(() => write(session, slice, bytes)),
    commit: (outcomes, manifest) => explained(() => commit(session, outcomes, manifest)),
    abort: () => explained(() => abort(session)),
    // The connections belong to the outbound guard and stay open.
    close: async () => undefined,
  };
}

async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  if (session.is_delivered) return outcomes;
  const surviving: SliceOutcome[] = [];
  for (const outcome of outcomes)
    if (await isStaged(session.dataset, outcome)) surviving.push(outcome);
  await prepare(session, surviving);
  return surviving;
}

/**
 * The tables are made and checked before the first row is taken; what dead attempts have left is
 * removed but for the slices that are kept.
 */
async function prepare(session: Session, kept: SliceOutcome[]): Promise<ReadonlySet<string>> {
  const json_columns = await prepareTables(session.dataset, session.delivery);
  await dropStages(
    session.dataset,
    session.delivery,
    new Set(kept.map((outcome) => (outcome.state as StageState).table)),
  );
  session.json_columns = json_columns;
  return json_columns;
}

/**
 * Rows of a delivery that is there already are read and left aside: they are in the table since its
 * receipt is.
 */
async function write(
  session: Session,
  slice: Slice,
  bytes: Readable,
): Promise<{ name: string; state: StageState | null }> {
  const { name } = targetOf(session.dataset.config);
  try {
    if (session.is_delivered) {
      await pipeline(bytes, new Writable({ write: (_chunk, _encoding, callback) => callback() }));
      return { name, state: null };
    }
    if (session.json_columns === undefined) await prepare(session, []);
    return { name, state: await stageSlice(session.dataset, session.delivery, slice, bytes) };
  } finally {
    bytes.destroy();
  }
}

/** The receipt of a repeat replaces the earlier one. */
async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  const { dataset, delivery } = session;
  const isOurs = !session.is_delivered && (await show(session, outcomes, manifest));
  if (!isOurs) await replaceReceipt(dataset, delivery, { outcomes, manifest });
  session.is_delivered = true;
  // The delivery is there and whole by now, so a fault in removing what is left of it is no fault
  // of the delivery.
  await dropStages(dataset, delivery, new Set()).catch((error: unknown) =>
    session.log.warn(
      { err: bigQueryError(error, dataset.config), delivery_id: delivery.delivery_id },
      'stage tables of a committed delivery could not be removed',
    ),
  );
}

async function show(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<boolean> {
  const { dataset, delivery } = session;
  const json_columns = session.json_columns ?? (await prepare(session, outcomes));
  const tables = await joinedStages(dataset, delivery, outcomes);
  return showRows(dataset, delivery, { tables, json_columns }, { outcomes, manifest });
}

async function abort(session: Session): Promise<void> {
  const { dataset, delivery } = session;
  // Without its stage tables a script that begins later shows nothing; then one that has begun is
  // waited for.
  await dropStages(dataset, delivery, new Set());
  if (!session.is_delivered) await endCommits(dataset, delivery);
  session.json_columns = undefined;
}
