import { buffer } from 'node:stream/consumers';
import sql from 'sql-template-tag';
import { RetryableError } from '../../../model/destination/errors.ts';
import { loadConfig } from '../../../model/destination/stored_config.ts';
import type { StoredConfig } from '../../../model/destination/stored_config.ts';
import type { Action, Add, State } from '../../../destinations/lake/delta_log/actions.ts';
import { decodedPath, encodedPath } from '../../../destinations/lake/delta_log/actions.ts';
import { removedAction } from '../../../destinations/lake/delta_log/commit.ts';
import { foldersOf } from '../../../destinations/lake/delta_log/folders.ts';
import { fieldsOfTable } from '../../../destinations/lake/delta_log/layout.ts';
import { readData } from '../../../destinations/lake/delta_log/live_files.ts';
import { addEntry, loadTable, refresh } from '../../../destinations/lake/delta_log/log.ts';
import {
  emptiedId,
  erasedIn,
  partsOfFile,
  tagsOf,
} from '../../../destinations/lake/delta_log/parts.ts';
import { fieldsOf, icebergType, rowFields } from '../../../destinations/lake/delta_log/schema.ts';
import { recordsOf, statisticsText } from '../../../destinations/lake/delta_log/statistics.ts';
import { openWorld } from '../../../destinations/lake/delta_log/world.ts';
import type { World } from '../../../destinations/lake/delta_log/world.ts';
import { table_places } from '../../../destinations/index.ts';
import type { TableSchema } from '../../../destinations/lake/schema.ts';
import { sortedBy } from '../../../destinations/lake/layout.ts';
import { placeOf } from '../../../destinations/lake/table_places.ts';
import { destinationDeps } from '../../engine.ts';
import type { Engine } from '../../engine.ts';
import { rulesOf } from '../rules.ts';
import type { MaintenanceRules } from '../rules.ts';
import type { RowsLayout } from '../rows_order.ts';
import type { RewrittenRows } from '../rewrite_rows.ts';

/** The Delta table of an export, claimed by one process. */
export type DeltaTable = {
  engine: Engine;
  world: World;
  team_id: number;
  /** The table according to its log; updated before each commit. */
  state: State;
  rules: MaintenanceRules;
  /** The name of the work in the analytics store's staging rows. */
  job: string;
  signal: AbortSignal;
};

/** Other writers may commit this many versions before ours. */
const conflicts_max = 100;

/** Opens the table of an export; undefined if the export or its table is gone. */
export async function openDeltaTable(
  engine: Engine,
  batch_export_id: string,
  job: string,
  signal: AbortSignal,
): Promise<DeltaTable | undefined> {
  const row = await engine.db.row<StoredConfig & { team_id: number }>(sql`
    SELECT team_id, destination_config, destination_secrets FROM batch_exports
    WHERE id = ${batch_export_id}::uuid AND destination_type = 'Delta'`);
  if (row === undefined) return undefined;
  const config = loadConfig(engine.secrets, batch_export_id, row);
  const deps = destinationDeps(engine, signal);
  const world = await openWorld(placeOf(table_places, config), config, row.team_id, deps);
  const state = await loadTable(world.log);
  const { metaData } = state;
  if (metaData === undefined) return undefined;
  const { configuration } = metaData;
  const size = bytesOf(configuration['delta.targetFileSize']);
  const rules = rulesOf({
    ...configuration,
    ...(size === undefined ? {} : { 'write.target-file-size-bytes': size }),
  });
  return { engine, world, team_id: row.team_id, state, rules, job, signal };
}

/** Converts a size such as `128mb` to bytes, as text. */
function bytesOf(text: string | undefined): string | undefined {
  const [, number, unit = ''] = /^(\d+) *([kmg]?)b?$/i.exec(text?.trim() ?? '') ?? [];
  if (number === undefined) return undefined;
  return String(Number(number) * 1024 ** ['', 'k', 'm', 'g'].indexOf(unit.toLowerCase()));
}

/** Returns the table's schema for the writer of files; columns are found by name. */
export function schemaOf({ state }: DeltaTable): TableSchema {
  const { schemaString, ...info } = state.metaData!;
  const fields = rowFields(fieldsOf(schemaString), fieldsOfTable({ schemaString, ...info }));
  return {
    type: 'struct',
    'schema-id': 0,
    fields: fields.map(({ name, type }, index) => ({
      id: index + 1,
      name,
      required: false,
      type: (icebergType(type) ?? JSON.stringify(type)).replace(/,(?=\d)/, ', '),
    })),
  };
}

/** Returns the columns of the table's files, and the order that the export asks for. */
export function layoutOf(one: DeltaTable): RowsLayout {
  const schema = schemaOf(one);
  const fields = sortedBy(one.world.config, {}).flatMap(({ column, is_descending }) =>
    schema.fields
      .filter(({ name }) => name === column)
      .map(({ id }) => ({
        'source-id': id,
        transform: 'identity',
        direction: is_descending ? ('desc' as const) : ('asc' as const),
        'null-order': 'nulls-last' as const,
      })),
  );
  return {
    schemas: [schema],
    'current-schema-id': 0,
    'sort-orders': [{ 'order-id': 1, fields }],
    'default-sort-order-id': 1,
  };
}

/** Returns the data files by their paths in the log. */
export function filesOf({ world }: DeltaTable) {
  return { read: async (path: string) => buffer(await readData(world, path)) };
}

/** Returns a data file to read, with its row count from the log. */
export function sourceOf({ path, stats }: Add) {
  return { path, records: recordsOf(stats) ?? -1 };
}

/**
 * Merges the rows of live files into one file, in one version. Guarantee: it reads every version's
 * entry before it skips the version. False, with nothing changed, if another writer first changed
 * one of the files.
 */
export async function replaceFiles(
  one: DeltaTable,
  group: readonly Add[],
  rows: RewrittenRows,
  work: 'compaction' | 'erasure',
): Promise<boolean> {
  const { world, state, signal, engine } = one;
  const stored = await storeRows(one, group, rows);
  const parts = group.flatMap(partsOfFile);
  const isDone = () =>
    stored === undefined
      ? parts.every((part) => state.txns.has(emptiedId(part)))
      : state.adds.has(stored.path);
  for (let tries = 0; tries < conflicts_max; tries += 1) {
    await refresh(world.log, state);
    if (isDone()) return true;
    if (!group.every(({ path }) => state.adds.has(path))) break;
    const now = engine.clock.now();
    const dataChange = work === 'erasure';
    const entry: Action[] = [
      {
        commitInfo: {
          timestamp: now,
          operation: dataChange ? 'DELETE' : 'OPTIMIZE',
          engineInfo: 'Sluice',
          'sluice.maintenance': work,
          operationParameters: {},
        },
      },
      ...group.map((file) => removedAction(file, now, dataChange)),
      ...(stored === undefined
        ? parts.map((part) => ({ txn: { appId: emptiedId(part), version: 0, lastUpdated: now } }))
        : [{ add: { ...stored, dataChange } }]),
    ];
    signal.throwIfAborted();
    if (await addEntry(world.log, state, entry)) return true;
  }
  // No version names the file, and none can: each one was read.
  if (stored !== undefined)
    await world.log.files.remove(`${world.folder}/${decodedPath(stored.path)}`);
  if (group.every(({ path }) => state.adds.has(path)))
    throw new RetryableError('conflict', 'Other writers change the table all the time.');
  return false;
}

/** Stores the rows of some files of one partition as a new file; undefined if no row is left. */
async function storeRows(
  one: DeltaTable,
  group: readonly Add[],
  { records, file }: RewrittenRows,
): Promise<Add | undefined> {
  if (file === undefined) return undefined;
  const { world, engine, signal } = one;
  const { partitionValues } = group[0]!;
  const folders = foldersOf(world, one.state.metaData!.partitionColumns, partitionValues);
  const name = [...folders, `compacted-${crypto.randomUUID()}.parquet`].join('/');
  signal.throwIfAborted();
  await world.log.files.put(`${world.folder}/${name}`, file.bytes);
  const columns = schemaOf(one).fields.map(({ name, type }) => ({
    name,
    type: type === 'timestamptz' ? 'timestamp' : String(type),
  }));
  const before = group.reduce((sum, add) => sum + (recordsOf(add.stats) ?? 0), 0);
  return {
    path: encodedPath(name),
    partitionValues,
    size: file.bytes.length,
    modificationTime: engine.clock.now(),
    dataChange: false,
    stats: statisticsText(columns, file.statistics, records),
    tags: tagsOf(group.flatMap(partsOfFile), file.sha256, erasedIn(group) + before - records),
  };
}
