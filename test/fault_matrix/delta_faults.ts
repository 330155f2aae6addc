import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { entryText } from '../../server/engine/destinations/lake/delta_log/actions.ts';
import { loadTable } from '../../server/engine/destinations/lake/delta_log/log.ts';
import { recordsOf } from '../../server/engine/destinations/lake/delta_log/statistics.ts';
import { openWorld } from '../../server/engine/destinations/lake/delta_log/world.ts';
import { file_place } from '../../server/engine/destinations/file/file.ts';
import { destinationDeps } from '../../server/engine/exports/engine.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import type { FaultCase, Scene } from './matrix.ts';

let tables = 0;

/** Faults of the Delta destination, with its files in the folder of exports. */
export function deltaFaults(exporting: QueryHarness): FaultCase[] {
  const scene = (strike: (log: string) => Promise<void>) => async (): Promise<Scene> => {
    const config = { storage: 'File', table: `faults_${(tables += 1)}` };
    let folder = '';
    return {
      config,
      visible: () => rowsIn(exporting, config, folder),
      strike: async (run) => {
        const team_id = await teamOf(exporting, run.batch_export_id);
        folder = join('delta', String(team_id), config.table);
        await mkdir(join(exporting.folder, folder), { recursive: true });
        await strike(join(exporting.folder, folder, '_delta_log'));
      },
      lift: () => rm(join(exporting.folder, folder, '_delta_log'), { recursive: true }),
    };
  };
  return [
    {
      destination: 'Delta',
      fault: 'a file is where the log should be',
      code: 'invalid_path',
      ending: 'Failed',
      prepare: scene((log) => writeFile(log, '')),
    },
    {
      destination: 'Delta',
      fault: 'a column of the table has another type',
      code: 'table_unsuitable',
      ending: 'Failed',
      prepare: scene(createOther),
    },
  ];
}

async function teamOf({ harness }: QueryHarness, id: string): Promise<number> {
  const row = await harness.deps.db.row<{ team_id: number }>(
    sql`SELECT team_id FROM batch_exports WHERE id = ${id}::uuid`,
  );
  return row!.team_id;
}

/** Returns the rows that readers see, according to the log. */
async function rowsIn(
  { harness }: QueryHarness,
  config: Record<string, unknown>,
  folder: string,
): Promise<number> {
  const team_id = Number(folder.split('/')[1] ?? 0);
  const deps = destinationDeps(harness.deps.engine, new AbortController().signal);
  const { log } = await openWorld(file_place, config, team_id, deps);
  const state = await loadTable(log).catch(() => undefined);
  return [...(state?.adds.values() ?? [])].reduce(
    (sum, { stats }) => sum + (recordsOf(stats) ?? 0),
    0,
  );
}

/** Another writer created the table before the export. */
async function createOther(log: string): Promise<void> {
  await mkdir(log);
  const field = { name: 'event', type: 'long', nullable: true, metadata: {} };
  const actions = [
    { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
    {
      metaData: {
        id: randomUUID(),
        format: { provider: 'parquet', options: {} },
        schemaString: JSON.stringify({ type: 'struct', fields: [field] }),
        partitionColumns: [],
        configuration: {},
      },
    },
  ];
  await writeFile(join(log, '00000000000000000000.json'), entryText(actions));
}
