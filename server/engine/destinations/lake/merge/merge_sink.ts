import type { Readable } from 'node:stream';
import { RetryableError } from '../../../model/destination/errors.ts';
import type {
  Delivery,
  DestinationDeps,
  EndOfRun,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
  SortedColumn,
} from '../../../model/destination/destination.ts';
import type { TableField } from '../../../model/destination/partition.ts';
import type { MergeKeys } from '../../../model/destination/write_mode.ts';
import { partitionOf, placeFiles } from '../stored_files.ts';
import type { DataFileFacts } from '../stored_files.ts';
import type { Lineage } from '../row_lineage.ts';
import { changesQuery, mergeQuery } from './merge_query.ts';
import type { MergedColumn, MergedFile, Merging } from './merge_query.ts';
import { fileOutcomes, stateOf } from './state.ts';
import type { MergedSlice } from './state.ts';
import { openWorkplace } from './workplace.ts';
import type { Workplace } from './workplace.ts';

/** Rebuilds of changed partitions' files before the run is retried. */
const rounds_max = 3;
/** Numbers of rebuilt files follow those of all slices. */
const numbers_per_round = 10_000;

/** A data file that a merge replaces, and the ids of its rows if they are permanent. */
export type BaseFile = { path: string } & Partial<Lineage>;

/** The data files of a table's state, by partition. */
export type Base = { files(partition: Partition): BaseFile[] };

/** The values of a partition as text, in the order of its fields. */
export type Partition = readonly (string | null)[];

/** The facts by which a slice identifies the table that it was merged for. */
export type TableFacts = Pick<MergedSlice, 'table_uuid' | 'spec_id' | 'sort_order_id' | 'fields'>;

/** A table that rows are merged into; `Found` is its format's form of a prepared table. */
export type MergedTable<Found> = {
  /** The name of the table for users. */
  name: string;
  isShown(): Promise<boolean>;
  /** Creates the table if it is missing, and adds missing columns. */
  prepare(fields: readonly TableField[]): Promise<Found>;
  /** Returns the table that an earlier attempt's slice was merged for. */
  prepareFor(slice: MergedSlice): Promise<Found>;
  factsOf(found: Found): TableFacts;
  columnsOf(found: Found): MergedColumn[];
  /** Returns true if rows keep their ids. */
  tracksRows?(found: Found): boolean;
  /**
   * Returns the current files; undefined if the table is not the slice's. With `found`, throws
   * `conflict` if the columns have changed.
   */
  baseOf(facts: TableFacts, found?: Found): Promise<Base | undefined>;
  /** Copies a data file to the folder, under this name. */
  fetch(place: Workplace, file: BaseFile, name: string, found: Found): Promise<MergedFile>;
  store(
    found: Found,
    slice: Pick<Slice, 'number' | 'records'> & { values: Partition },
    bytes: Readable,
  ): Promise<DataFileFacts>;
  /** Shows the files of the slices. Throws `conflict` if one is outdated at that moment. */
  show(slices: MergedSlice[], end: EndOfRun): Promise<void>;
  abort(outcomes: SliceOutcome[]): Promise<void>;
  unsuitable(why: string): Error;
};

type Opened = {
  deps: DestinationDeps;
  delivery: Delivery & { merge: MergeKeys };
  files: Sink;
  order: readonly SortedColumn[];
};

/**
 * Opens a delivery whose rows are merged into a table. A slice has the rows of one partition. This
 * machine merges them with the partition's data files into a new one; the commit replaces these.
 * Guarantees in addition to those of `Sink`: a commit only replaces files that are live, and that
 * are all files of their partition. Otherwise the merge is repeated with the current files.
 */
export function openMergeSink<Found>(table: MergedTable<Found>, opened: Opened): Sink {
  const { deps, delivery, files } = opened;
  let preparing: Promise<Found> | undefined;
  let workplace: Promise<Workplace> | undefined;
  const placeOf = () => (workplace ??= openWorkplace(deps));
  const merge = async (found: Found, before: MergedSlice, number: number) => {
    const base = (await table.baseOf(before, found)) ?? { files: () => [] };
    return mergeSlice(table, opened, await placeOf(), { found, base, before, number });
  };
  const mergeAgain = async (round: number, outcome: SliceOutcome): Promise<SliceOutcome> => {
    const before = stateOf(outcome);
    if (!before.is_here)
      throw new RetryableError(
        'conflict',
        'Another writer changed the table meanwhile. Sluice retries the run.',
      );
    const found = await (preparing ?? table.prepareFor(before));
    const number = outcome.number + round * numbers_per_round;
    return { ...outcome, state: await merge(found, before, number) };
  };
  return {
    isCommitted: () => table.isShown(),
    recover: (outcomes) => recover(table, files, outcomes),
    write: async (slice, bytes) => {
      const { fields, values } = partitionOf(slice);
      requirePartsOfKey(table, delivery.merge, fields);
      await (await placeOf()).save(cameName(slice), bytes);
      const found = await (preparing ??= table.prepare(fields));
      const facts = { ...table.factsOf(found), fields: [...fields] };
      const before = unmerged(facts, cameName(slice), values);
      // An earlier attempt may have shown a file with the first number to its place.
      const number = slice.number + delivery.attempt * rounds_max * numbers_per_round;
      return { name: table.name, state: await merge(found, before, number) };
    },
    commit: async (outcomes, manifest, end = (show) => deps.db!.transaction(show)) => {
      // Its files are live and must not be touched.
      if (await table.isShown()) return end(async () => undefined);
      const merged = await freshened(table, delivery, outcomes, mergeAgain);
      await commitMerged(table, files, { outcomes: merged, manifest, end });
    },
    abort: (outcomes) => table.abort(outcomes.flatMap(fileOutcomes)),
    close: async () => {
      await (await workplace?.catch(() => undefined))?.close();
      await files.close();
    },
  };
}

/**
 * Returns true if the slice's base contains all files of its partition, and their rows have the
 * same ids.
 */
export function isFresh(
  base: Base,
  { partition, base: paths, numbered = 0 }: MergedSlice,
): boolean {
  const own = new Set(paths);
  const files = base.files(partition);
  return (
    paths.length === files.length &&
    files.every(({ path }) => own.has(path)) &&
    files.filter(hasRowIds).length === numbered
  );
}

const hasRowIds = ({ first_row_id }: BaseFile) => (first_row_id ?? null) !== null;

/** Returns the error if another writer first changed the files of a slice. */
export function overtakenError(): RetryableError {
  return new RetryableError(
    'conflict',
    'Another writer changed the table at this moment. Sluice retries the run.',
  );
}

/** Returns a slice whose rows are in the folder of the attempt. */
function unmerged(facts: TableFacts, came: string, partition: (string | null)[]): MergedSlice {
  return { ...facts, partition, came, is_here: true, base: [], file: null };
}

/** Returns earlier attempts' slices whose base is still current. */
async function recover<Found>(
  table: MergedTable<Found>,
  files: Sink,
  outcomes: SliceOutcome[],
): Promise<SliceOutcome[]> {
  const fresh: SliceOutcome[] = [];
  for (const outcome of outcomes) {
    const state = { ...stateOf(outcome), is_here: false };
    const base = await table.baseOf(state);
    if (base !== undefined && isFresh(base, state)) fresh.push({ ...outcome, state });
  }
  const whole = await files.recover(fresh.flatMap(fileOutcomes));
  const numbers = new Set(whole.map(({ number }) => number));
  return fresh.filter((outcome) =>
    fileOutcomes(outcome).every(({ number }) => numbers.has(number)),
  );
}

/** Repeats a few times the merges that another writer has outdated. */
async function freshened<Found>(
  table: MergedTable<Found>,
  { attempt }: Delivery,
  outcomes: SliceOutcome[],
  mergeAgain: (round: number, outcome: SliceOutcome) => Promise<SliceOutcome>,
): Promise<SliceOutcome[]> {
  let merged = outcomes;
  for (let round = 1; round <= rounds_max; round += 1) {
    const next: SliceOutcome[] = [];
    let is_stale = false;
    for (const outcome of merged) {
      const slice = stateOf(outcome);
      const base = await table.baseOf(slice);
      const isOvertaken = base === undefined || !isFresh(base, slice);
      is_stale ||= isOvertaken;
      const own = attempt * rounds_max + round;
      next.push(isOvertaken && round < rounds_max ? await mergeAgain(own, outcome) : outcome);
    }
    if (!is_stale) return merged;
    merged = next;
  }
  throw new RetryableError(
    'conflict',
    'Other writers keep changing the table. Sluice retries the run.',
  );
}

const cameName = ({ number }: Pick<Slice, 'number'>) => `came-${number}.parquet`;

/** Rows of one key in two partitions would never meet. */
function requirePartsOfKey<Found>(
  table: MergedTable<Found>,
  { key }: MergeKeys,
  fields: readonly TableField[],
): void {
  const other = fields.find(({ column }) => !key.includes(column));
  if (other !== undefined)
    throw table.unsuitable(
      `it is partitioned by "${other.column}", which is not in \`primary_key\`, so rows of one ` +
        'key may lie in several partitions. Merge into another table.',
    );
}

type Work<Found> = { found: Found; base: Base; before: MergedSlice; number: number };

/** Merges the rows of a slice with those of its partition; without a change, it writes no file. */
async function mergeSlice<Found>(
  table: MergedTable<Found>,
  { delivery, order }: Opened,
  place: Workplace,
  { found, base, before, number }: Work<Found>,
): Promise<MergedSlice> {
  const columns = table.columnsOf(found);
  const sources = base.files(before.partition);
  const there: MergedFile[] = [];
  for (const [index, file] of sources.entries())
    there.push(await table.fetch(place, file, `there-${index}.parquet`, found));
  const delivered = new Set(delivery.columns.map(({ name }) => name));
  const came: MergedFile = {
    path: place.path(before.came),
    names: new Map(
      columns.flatMap(({ id, name }): [number, string][] =>
        delivered.has(name) ? [[id, name]] : [],
      ),
    ),
  };
  const tracks_rows = table.tracksRows?.(found) === true;
  const merging: Merging = { columns, there, came, merge: delivery.merge, order, tracks_rows };
  const numbered = sources.filter(hasRowIds).length;
  const state = { ...before, base: sources.map(({ path }) => path), numbered };
  const changes = Number(await place.run(changesQuery(merging)));
  if (changes === 0) return { ...state, file: null };
  const out = 'merged.parquet';
  try {
    await place.run(mergeQuery(merging, place.path(out)));
    const slice = { number, records: 0, values: before.partition };
    const file = await table.store(found, slice, place.read(out));
    return { ...state, file: { ...file, number } };
  } finally {
    for (const name of [out, ...there.map((_, index) => `there-${index}.parquet`)])
      await place.remove(name);
  }
}

async function commitMerged<Found>(
  table: MergedTable<Found>,
  files: Sink,
  { outcomes, manifest, end }: { outcomes: SliceOutcome[]; manifest: Manifest; end: EndOfRun },
): Promise<void> {
  await placeFiles(files, outcomes.flatMap(fileOutcomes), manifest);
  await table.show(outcomes.map(stateOf), end);
}
