import type { Engine } from '../../engine/exports/engine.ts';
import { cutSlices } from '../../engine/exports/source/cut_slices.ts';
import { streamSlice } from '../../engine/exports/source/source.ts';
import { columnsOf, openSourceQuery } from '../../engine/exports/source/source_query.ts';
import type { Source } from '../../engine/exports/source/source_query.ts';
import { encodeStage } from '../../engine/destinations/formats/encode_stage.ts';
import type { Encoding } from '../../engine/model/destination/encoding.ts';
import { toStored } from '../../engine/model/ledger/rectangles.ts';
import { models } from '../../engine/model/models/index.ts';
import type { ModelName } from '../../engine/model/models/model.ts';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { counted } from '../../platform/counted.ts';
import type { LeftFolder } from './left_folder.ts';

const encoding: Encoding = { format: 'Parquet', compression: 'zstd' };

/** A project whose rows are written, and its folder. */
export type LeftProject = { id: number; path: string };

/**
 * Writes all rows of all models of a project as Parquet, like a full export to files. Guarantee:
 * every row that was ingested before the folder's instant and not removed is in exactly one file of
 * its model.
 */
export async function writeRows(
  engine: Engine,
  folder: LeftFolder,
  project: LeftProject,
  { tell, signal }: { tell(line: string): void; signal: AbortSignal },
): Promise<void> {
  for (const model of Object.keys(models) as ModelName[]) {
    const source = sourceOf(project.id, model, folder.head.until);
    const reading = await openSourceQuery(engine, source);
    const slices = await cutsOf(folder, project.id, model, () =>
      caughtUp(engine.clickhouse, row_tables, () => cutSlices(engine, reading, undefined, signal)),
    );
    const columns = columnsOf(source, 'files');
    for (const [index, slice] of slices.entries()) {
      const path = `${project.path}/${model}/${String(index + 1).padStart(5, '0')}.parquet`;
      const isPresent = folder.files.has(path);
      const { rows } = await folder.write(path, async () => {
        const stage = encodeStage(encoding);
        const bytes = await streamSlice(engine, reading, slice, columns, encoding, signal);
        return { bytes: stage.pipeline(bytes), rows: () => stage.finish().records };
      });
      tell(
        `${project.path}: ${model} ${index + 1} of ${counted(slices.length, 'file')}, ` +
          `${counted(rows ?? 0, 'row')}${isPresent ? ' (already there)' : ''}`,
      );
    }
  }
}

/** Divides the rows once; a folder that is continued keeps its first division. */
async function cutsOf(
  folder: LeftFolder,
  project: number,
  model: ModelName,
  cut: () => ReturnType<typeof cutSlices>,
): ReturnType<typeof cutSlices> {
  const kept = folder.cutOf(project, model);
  if (kept !== undefined) return kept.slices;
  const slices = await cut();
  await folder.keepCut({ project, model, slices });
  return slices;
}

function sourceOf(team_id: number, model: ModelName, until: string): Source {
  const history = {
    event_from: -Infinity,
    event_to: Infinity,
    inserted_from: -Infinity,
    inserted_to: Date.parse(until),
  };
  return {
    team_id,
    model,
    custom_query: null,
    destination_config: null,
    selection: toStored([history]),
    data_interval_end: until,
  };
}
