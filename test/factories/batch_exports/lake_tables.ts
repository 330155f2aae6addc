import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import type { Engine } from '../../../server/engine/exports/engine.ts';
import { listLive } from '../../../server/engine/exports/lake_maintenance/compact.ts';
import type { LiveFile } from '../../../server/engine/exports/lake_maintenance/compact.ts';
import {
  commitHeld,
  openMaintainedTable,
  stateOf,
} from '../../../server/engine/exports/lake_maintenance/maintained_table.ts';
import type { MaintainedTable } from '../../../server/engine/exports/lake_maintenance/maintained_table.ts';
import {
  filesIn,
  liveLists,
  manifestsIn,
} from '../../../server/engine/exports/lake_maintenance/reached_files.ts';
import { readParquets } from '../../../server/engine/destinations/formats/parquet/read_parquet.ts';
import type { ValueRow } from '../../../server/engine/model/destination/content_source.ts';
import type { QueryHarness } from './query_exports.ts';

/** A table of an export whose runs a test executes, and the contents of its folder. */
export type TestTable = {
  export_id: string;
  team_id: number;
  id: string;
  folder: string;
  /** Opens it like maintenance does, with this engine or the harness's own. */
  open(engine?: Engine): Promise<MaintainedTable>;
  /** The data files that readers of a ref see. */
  live(ref?: string): Promise<LiveFile[]>;
  /** The values of the columns of all rows of a ref, in the order of history. */
  rows(columns: string[], ref?: string): Promise<ValueRow[]>;
  /** The names of files below the folder of the table. */
  stored(): Promise<string[]>;
  /** Fails unless everything that any snapshot names exists, and is read. */
  checkWhole(): Promise<void>;
  setProperties(updates: Record<string, string>): Promise<void>;
};

/** Exports events of some hours to a table, one run for each hour. */
export async function newLakeTable(
  exporting: QueryHarness,
  {
    hours,
    events = 2,
    distinct_id,
    properties,
    config: given,
    body,
  }: {
    hours: number;
    events?: number;
    distinct_id?: (n: number) => string;
    properties?: (n: number) => object;
    /** Keys of the destination besides the usual ones. */
    config?: Record<string, unknown>;
    /** Fields of the export. */
    body?: Record<string, unknown>;
  },
): Promise<TestTable & { home: Awaited<ReturnType<QueryHarness['harness']['newOrganization']>> }> {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  await exporting.insert(
    home,
    Array.from({ length: hours * events }, (_, n) => ({
      event: `event ${n}`,
      at: `2026-01-01T${String(Math.floor(n / events)).padStart(2, '0')}:30:0${n % 10}Z`,
      distinct_id: distinct_id?.(n) ?? `person ${n}`,
      properties: properties?.(n) ?? { number: n, half: n / 2, '"': 'ü\n' },
    })),
  );
  const config = { storage: 'File', table: 'events', ...given };
  const { id: export_id } = await exporting.scheduled(
    home,
    { destination: { type: 'Iceberg', config }, ...body },
    hours,
  );
  const runs = await exporting.runAll(export_id);
  assert.deepEqual([...new Set(runs.map(({ status }) => status))], ['Completed']);
  return { ...(await openTestTable(exporting, home.project.id, export_id)), home };
}

/** Opens the only table of a project. */
async function openTestTable(
  { harness, folder }: QueryHarness,
  team_id: number,
  export_id: string,
): Promise<TestTable> {
  const { db, engine } = harness.deps;
  const { id } = (await db.row<{ id: string }>(
    sql`SELECT id FROM lake_tables WHERE team_id = ${team_id}`,
  ))!;
  const own_folder = join(folder, 'lake', String(team_id), 'sluice', 'events');
  const open = async (own: Engine = engine) =>
    (await openMaintainedTable(own, { id, team_id }, new AbortController().signal))!;
  const live = async (ref = 'main') => {
    const table = await open();
    const found = await listLive(table, await stateOf(db, table.table, ref));
    assert.ok(typeof found !== 'string');
    return found;
  };
  const rows = async (columns: string[], ref?: string) => {
    const { files } = await open();
    const all: ValueRow[] = [];
    for (const { path, records } of await live(ref)) {
      const bytes = await files.read(path);
      const before = all.length;
      for await (const some of readParquets([{ bytes: [bytes!] as never, names: columns }]))
        all.push(...some.rows);
      assert.equal(all.length - before, records, path);
    }
    return all;
  };
  return {
    export_id,
    team_id,
    id,
    folder: own_folder,
    open,
    live,
    rows,
    stored: async () =>
      (await readdir(own_folder, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(own_folder.length + 1))
        .toSorted(),
    checkWhole: async () => {
      const table = await open();
      const lists = await liveLists(table);
      const manifests = await manifestsIn(table.files, lists);
      const named = [
        ...(await filesIn(table.files, manifests.values())),
        table.table.metadata_location,
      ];
      for (const uri of named) assert.ok(await table.files.writtenAt(uri), `${uri} is gone`);
      await rows(['uuid']);
    },
    setProperties: async (updates) => {
      await commitHeld(await open(), async () => [{ action: 'set-properties', updates }]);
    },
  };
}
