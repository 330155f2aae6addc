import type {
  Delivery,
  DestinationDeps,
  Manifest,
  Sink,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { openReplacing } from '../sql_tables/generations.ts';
import { prepareTables } from '../sql_tables/prepare.ts';
import { findReceipt, writeReceipt } from '../sql_tables/receipts.ts';
import { newStanding, openStagedSink, recordsIn } from '../sql_tables/staged_sink.ts';
import type { StagedDelivery, Standing } from '../sql_tables/staged_sink.ts';
import { openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { endCommits, showRows } from './commit.ts';
import { targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { bigQueryDialect } from './dialect.ts';
import { bigQueryErrors } from './faults.ts';
import { withFaults } from '../../model/destination/faults.ts';
import { dropStages, isStaged, joinedStages, stageSlice } from './stage.ts';
import type { StageState } from './stage.ts';
import { jsonColumns } from './table.ts';

/** One attempt at a delivery. `json_columns` are set when the tables are prepared. */
type Session = {
  dataset: Dataset;
  dialect: Dialect;
  delivery: Delivery;
  standing: Standing;
  json_columns: ReadonlySet<string>;
};

/** Opens an attempt: signs in; it changes nothing yet, except for the removal of leftovers. */
export async function openBigQuerySink(
  config: BigQueryConfig,
  delivery: Delivery,
  deps: DestinationDeps,
): Promise<Sink> {
  const explained = bigQueryErrors(config, deps.signal);
  const dataset = await withFaults(explained, () => openDataset(config, deps));
  const dialect = bigQueryDialect(dataset);
  const session: Session = {
    dataset,
    dialect,
    delivery,
    standing: newStanding(),
    json_columns: new Set(),
  };
  const work: StagedDelivery = {
    name: targetOf(config).name,
    delivery,
    standing: session.standing,
    begin: async () => (await findReceipt(dialect, delivery.delivery_id)) !== undefined,
    prepare: async () => {
      const { found } = await prepareTables(dialect, delivery, deps);
      session.json_columns = jsonColumns(delivery.columns, found);
    },
    recover: (outcomes) => recover(session, outcomes),
    write: (slice, bytes) => stageSlice(dataset, delivery, slice, bytes),
    commit: (outcomes, manifest) => commit(session, outcomes, manifest),
    abort: () => abort(session),
    tidyUp: () => dropStages(dataset, delivery, new Set()),
    // The outbound guard owns the connections, which stay open.
    close: async () => undefined,
  };
  return openStagedSink(work, explained, deps.log);
}

/** Removes the leftovers of dead attempts, except for the slices to keep. */
async function recover(
  { dataset, delivery }: Session,
  outcomes: SliceOutcome[],
): Promise<SliceOutcome[]> {
  const surviving: SliceOutcome[] = [];
  for (const outcome of outcomes) if (await isStaged(dataset, outcome)) surviving.push(outcome);
  const kept = new Set(surviving.map((outcome) => (outcome.state as StageState).table));
  await dropStages(dataset, delivery, kept);
  return surviving;
}

/** The receipt of a repeat replaces the earlier one. */
async function commit(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<void> {
  const { dialect, delivery, standing } = session;
  const isOurs = !standing.is_delivered && (await show(session, outcomes, manifest));
  if (isOurs) return;
  const receipt = { records: recordsIn(outcomes), text: manifest.text, is_repeat: true };
  await writeReceipt(dialect, delivery, receipt);
}

async function show(
  session: Session,
  outcomes: SliceOutcome[],
  manifest: Manifest,
): Promise<boolean> {
  const { dataset, dialect, delivery, standing, json_columns } = session;
  const tables = await joinedStages(dataset, delivery, outcomes);
  const rows = { delivery, tables, json_columns };
  const { find } = openReplacing(dialect, delivery);
  await find();
  try {
    return await showRows(dataset, standing, rows, { outcomes, manifest });
  } catch (error) {
    // The script stops if a later generation came meanwhile.
    if (!standing.may_show) await find();
    throw error;
  }
}

async function abort(session: Session): Promise<void> {
  const { dataset, delivery } = session;
  // Without its stage tables, a script that begins later shows nothing; the code below waits for
  // one that has begun.
  await dropStages(dataset, delivery, new Set());
  if (!session.standing.is_delivered) await endCommits(dataset, delivery);
}
