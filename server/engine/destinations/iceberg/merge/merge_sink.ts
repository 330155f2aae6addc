import { RetryableError } from '../../../model/destination/errors.ts';
import type {
  Delivery,
  EndOfRun,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
  SortedColumn,
} from '../../../model/destination/destination.ts';
import type { TableField } from '../../../model/destination/partition.ts';
import type { MergeKeys } from '../../../model/destination/write_mode.ts';
import { currentSchema, specOf } from '../../lake/table_metadata.ts';
import type { TableState } from '../../lake/table_metadata.ts';
import { requireSameTable } from '../catalogs/same_table.ts';
import { tableName } from '../config.ts';
import { fieldsOf } from '../layout.ts';
import { showFiles } from '../show.ts';
import { abortUnshown, isShown, partitionOf, placeFiles, storeFile } from '../sink.ts';
import { prepareTable, unsuitable } from '../table.ts';
import type { PreparedTable } from '../table.ts';
import type { World } from '../world.ts';
import { areSame, openBases } from './base.ts';
import type { Base } from './base.ts';
import { changesQuery, mergeQuery } from './merge_query.ts';
import type { MergedFile, Merging } from './merge_query.ts';
import { fileOutcomes, stateOf } from './state.ts';
import type { MergedSlice } from './state.ts';
import { fetchFile, mergedColumns, openWorkplace } from './workplace.ts';
import type { Workplace } from './workplace.ts';

/** Tries to make the files of touched partitions again before the run is tried again. */
const rounds_max = 3;
/** Numbers of the files that are made again follow those of all slices. */
const numbers_per_round = 10_000;

type Opened = {
  world: World;
  delivery: Delivery & { merge: MergeKeys };
  files: Sink;
  order: readonly SortedColumn[];
};

/**
 * Opens a delivery whose rows are merged into a table. A slice has the rows of one partition, and
 * is merged with the data files of that partition into a new one, on this machine; the commit
 * replaces them. Guarantees besides those of `Sink`: a commit replaces only files that are live,
 * and that are all of their partition; else the merge is made again of what is there.
 */
export function openMergeSink(opened: Opened): Sink {
  const { world, delivery, files } = opened;
  const { deps } = world;
  let table: Promise<PreparedTable> | undefined;
  let workplace: Promise<Workplace> | undefined;
  let bases: ReturnType<typeof openBases> | undefined;
  const placeOf = () => (workplace ??= openWorkplace(deps));
  const basesOf = (spec_id: number) => (bases ??= openBases(world, spec_id));
  const prepared = (fields: readonly TableField[]) =>
    (table ??= prepareTable(world, delivery, { fields, order: opened.order }));
  const baseNow = async (found: PreparedTable): Promise<Base> =>
    basesOf(found.spec_id)(await stateNow(world, found));
  const mergeAgain = async (round: number, outcome: SliceOutcome): Promise<SliceOutcome> => {
    const before = stateOf(outcome);
    if (!before.is_here)
      throw new RetryableError(
        'conflict',
        'Another writer changed the table meanwhile. The run is tried again.',
      );
    const found = await (table ?? prepareAgain(opened, before));
    const base = await baseNow(found);
    const number = outcome.number + round * numbers_per_round;
    const state = await mergeSlice(opened, await placeOf(), { found, base, before, number });
    return { ...outcome, state };
  };
  return {
    isCommitted: () => isShown(world, delivery),
    recover: (outcomes) => recover(opened, basesOf, outcomes),
    write: async (slice, bytes) => {
      const { fields, values } = partitionOf(slice);
      requirePartsOfKey(opened, fields);
      await (await placeOf()).save(cameName(slice), bytes);
      const found = await prepared(fields);
      const before = unmerged(found, cameName(slice), values);
      const base = await baseNow(found);
      // An earlier attempt may have shown a file of the first number to its place.
      const number = slice.number + delivery.attempt * rounds_max * numbers_per_round;
      const state = await mergeSlice(opened, await placeOf(), { found, base, before, number });
      const { levels, name } = tableName(world.config);
      return { name: [...levels, name].join('.'), state };
    },
    commit: async (outcomes, manifest, end = (show) => deps.db!.transaction(show)) => {
      // Its files are live: they must not be touched.
      if (await isShown(world, delivery)) return end(async () => undefined);
      const merged = await freshened(opened, basesOf, outcomes, mergeAgain);
      await commitMerged(opened, basesOf, { outcomes: merged, manifest, end });
    },
    abort: (outcomes) => abortUnshown(world, delivery, files, outcomes.flatMap(fileOutcomes)),
    close: async () => {
      await (await workplace?.catch(() => undefined))?.close();
      await files.close();
    },
  };
}

/**
 * Loads the table, and throws `conflict` if its columns changed. Its files have the columns of its
 * schema: a newer one may have more than we copy.
 */
async function stateNow({ catalog }: World, { uuid, schema }: PreparedTable) {
  const state = await catalog.load();
  requireSameTable(state, uuid);
  if (state!.metadata['current-schema-id'] !== schema['schema-id'])
    throw new RetryableError(
      'conflict',
      'The columns of the table changed. The run is tried again.',
    );
  return state;
}

/** A slice whose rows are in the folder of the attempt. */
function unmerged(found: PreparedTable, came: string, partition: (string | null)[]): MergedSlice {
  const { uuid: table_uuid, spec_id, sort_order_id } = found;
  return {
    table_uuid,
    spec_id,
    sort_order_id,
    partition,
    came,
    is_here: true,
    base: [],
    file: null,
  };
}

type BasesOf = (spec_id: number) => (state: TableState | undefined) => Promise<Base>;

/** The slices of earlier attempts that were merged with what the table has still. */
async function recover(
  { world, files }: Opened,
  basesOf: BasesOf,
  outcomes: SliceOutcome[],
): Promise<SliceOutcome[]> {
  const state = await world.catalog.load();
  const ours = outcomes
    .map((outcome) => ({ ...outcome, state: { ...stateOf(outcome), is_here: false } }))
    .filter((outcome) => outcome.state.table_uuid === state?.metadata['table-uuid']);
  const fresh: SliceOutcome[] = [];
  for (const outcome of ours) {
    const base = await basesOf(outcome.state.spec_id)(state);
    if (isFresh(base, outcome.state)) fresh.push(outcome);
  }
  const whole = await files.recover(fresh.flatMap(fileOutcomes));
  const numbers = new Set(whole.map(({ number }) => number));
  return fresh.filter((outcome) =>
    fileOutcomes(outcome).every(({ number }) => numbers.has(number)),
  );
}

/** Merges again what another writer has overtaken, a few times. */
async function freshened(
  { world, delivery }: Opened,
  basesOf: BasesOf,
  outcomes: SliceOutcome[],
  mergeAgain: (round: number, outcome: SliceOutcome) => Promise<SliceOutcome>,
): Promise<SliceOutcome[]> {
  let merged = outcomes;
  for (let round = 1; round <= rounds_max; round += 1) {
    const state = await world.catalog.load();
    const next: SliceOutcome[] = [];
    let is_stale = false;
    for (const outcome of merged) {
      const slice = stateOf(outcome);
      const isOvertaken = !isFresh(await basesOf(slice.spec_id)(state), slice);
      is_stale ||= isOvertaken;
      const own = delivery.attempt * rounds_max + round;
      next.push(isOvertaken && round < rounds_max ? await mergeAgain(own, outcome) : outcome);
    }
    if (!is_stale) return merged;
    merged = next;
  }
  throw new RetryableError(
    'conflict',
    'Other writers keep changing the table. The run is tried again.',
  );
}

const cameName = ({ number }: Pick<Slice, 'number'>) => `came-${number}.parquet`;

/** Rows of one key in two partitions would never meet. */
function requirePartsOfKey({ world, delivery }: Opened, fields: readonly TableField[]): void {
  const other = fields.find(({ column }) => !delivery.merge.key.includes(column));
  if (other !== undefined)
    throw unsuitable(
      world,
      `it is partitioned by "${other.column}", which is not in \`primary_key\`, so rows of one ` +
        'key may lie in several partitions. Merge into another table.',
    );
}

function isFresh(base: Base, { partition, base: paths }: MergedSlice): boolean {
  return areSame(paths, base.files(partition));
}

/** The table of slices that an earlier attempt made. */
async function prepareAgain(
  { world, delivery, order }: Opened,
  { spec_id }: MergedSlice,
): Promise<PreparedTable> {
  const { metadata } = (await world.catalog.load())!;
  const fields = fieldsOf(currentSchema(metadata), specOf(metadata, spec_id)) ?? [];
  return prepareTable(world, delivery, { fields, order });
}

type Work = { found: PreparedTable; base: Base; before: MergedSlice; number: number };

/** Merges the rows of a slice with those of its partition; without a change no file is written. */
async function mergeSlice(
  { world, delivery, files, order }: Opened,
  place: Workplace,
  { found, base, before, number }: Work,
): Promise<MergedSlice> {
  const columns = mergedColumns(world, found.schema);
  const entries = base.files(before.partition);
  const there: MergedFile[] = [];
  for (const [index, entry] of entries.entries())
    there.push(await fetchFile(world, place, { entry, name: `there-${index}.parquet`, columns }));
  const delivered = new Set(delivery.columns.map(({ name }) => name));
  const came: MergedFile = {
    path: place.path(before.came),
    names: new Map(
      columns.flatMap(({ id, name }): [number, string][] =>
        delivered.has(name) ? [[id, name]] : [],
      ),
    ),
  };
  const merging: Merging = { columns, there, came, merge: delivery.merge, order };
  const state = { ...before, base: entries.map(({ path }) => path) };
  const changes = Number(await place.run(changesQuery(merging)));
  if (changes === 0) return { ...state, file: null };
  const out = 'merged.parquet';
  try {
    await place.run(mergeQuery(merging, place.path(out)));
    const file = await storeFile(found, files, { number, records: 0 }, place.read(out));
    return { ...state, file: { ...file, number } };
  } finally {
    for (const name of [out, ...there.map((_, index) => `there-${index}.parquet`)])
      await place.remove(name);
  }
}

async function commitMerged(
  { world, delivery, files }: Opened,
  basesOf: BasesOf,
  { outcomes, manifest, end }: { outcomes: SliceOutcome[]; manifest: Manifest; end: EndOfRun },
): Promise<void> {
  const slices = outcomes.map(stateOf);
  await placeFiles(files, outcomes.flatMap(fileOutcomes), manifest);
  const changed = slices.filter(({ file }) => file !== null);
  await showFiles(
    world,
    {
      delivery,
      table_uuid: slices[0]?.table_uuid,
      files: changed.map(({ file, partition, spec_id, sort_order_id }) => {
        const { name, records, bytes, statistics } = file!;
        return { name, records, bytes, statistics, partition, spec_id, sort_order_id };
      }),
      removed: new Set(changed.flatMap(({ base }) => base)),
      requireBase: async (state) => {
        for (const slice of slices)
          if (!isFresh(await basesOf(slice.spec_id)(state), slice))
            throw new RetryableError(
              'conflict',
              'Another writer changed the table at this moment. The run is tried again.',
            );
      },
    },
    end,
  );
}
