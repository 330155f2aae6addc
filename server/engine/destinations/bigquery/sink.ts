import type {
  Delivery,
  DestinationDeps,
  Manifest,
  Sink,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import { newStanding, openStagedSink } from '../sql_tables/staged_sink.ts';
import type { StagedDelivery, Standing } from '../sql_tables/staged_sink.ts';
import { openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { endCommits, findReceipt, replaceReceipt, showRows } from './commit.ts';
import { targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { bigQueryErrors } from './faults.ts';
import { withFaults } from '../../model/destination/faults.ts';
import { dropStages, isStaged, joinedStages, stageSlice } from './stage.ts';
import type { StageState } from './stage.ts';
import { prepareTables } from './table.ts';

/** One attempt at a delivery. `json_columns` is known when the tables are prepared. */
type Session = {
  dataset: Dataset;
  delivery: Delivery;
  standing: Standing;
  json_columns: ReadonlySet<string> | undefined;
};

/** Opens an attempt: signs in; nothing is changed yet, but that what is there is tidied up. */
export async function openBigQuerySink(
  config: BigQueryConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const explained = bigQueryErrors(config, deps.signal);
  const dataset = await withFaults(explained, () => openDataset(config, deps));
  const session: Session = {
    dataset,
    delivery,
    standing: newStanding(),
    json_columns: undefined,
  };
  const work: StagedDelivery = {
    name: targetOf(config).name,
    delivery,
    standing: session.standing,
    begin: async () => (await findReceipt(dataset, delivery.delivery_id)) !== undefined,
    recover: (outcomes) => recover(session, outcomes),
    write: async (slice, bytes) => {
      if (session.json_columns === undefined) await prepare(session, []);
      return stageSlice(dataset, delivery, slice, bytes);
    },
    commit: (outcomes, manifest) => commit(session, outcomes, manifest),
    abort: () => abort(session),
    tidyUp: () => dropStages(dataset, delivery, new Set()),
    // The connections belong to the outbound guard and stay open.
    close: async () => undefined,
  };
  return openStagedSink(work, explained, deps.log);
}

async function recover(session: Session, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  const surviving: SliceOutcome[] = [];
  for (const outcome of outcomes)
    if (await isStaged(session.dataset, outcome)) surviving.push(outcome);
  await prepare(session, surviving);
  return surviving;
}

/**
 * The tables are created and checked before the first row is taken; what dead attempts have left is
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

/** The receipt of a repeat replaces the earlier one. */
async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  const { dataset, delivery, standing } = session;
  const isOurs = !standing.is_delivered && (await show(session, outcomes, manifest));
  if (!isOurs) await replaceReceipt(dataset, delivery, { outcomes, manifest });
}

async function show(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<boolean> {
  const { dataset, delivery, standing } = session;
  const json_columns = session.json_columns ?? (await prepare(session, outcomes));
  const tables = await joinedStages(dataset, delivery, outcomes);
  const rows = { delivery, tables, json_columns };
  return showRows(dataset, standing, rows, { outcomes, manifest });
}

async function abort(session: Session): Promise<void> {
  const { dataset, delivery } = session;
  // Without its stage tables a script that begins later shows nothing; then one that has begun is
  // waited for.
  await dropStages(dataset, delivery, new Set());
  if (!session.standing.is_delivered) await endCommits(dataset, delivery);
  session.json_columns = undefined;
}
