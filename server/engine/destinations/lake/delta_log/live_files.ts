import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { parquetMetadata } from 'hyparquet';
import type { ValueRow } from '../../../model/destination/content_source.ts';
import { readParquets } from '../../formats/parquet/read_parquet.ts';
import type { MergedColumn } from '../merge/merge_query.ts';
import { decodedPath } from './actions.ts';
import type { Add, State } from './actions.ts';
import { unsuitable } from './table.ts';
import type { World } from './world.ts';

/**
 * Returns the files that readers see. Throws `table_unsuitable` for one outside the table's folder.
 */
export function filesOf(world: World, { adds }: State): Add[] {
  const outside = [...adds.keys()].find((path) => !isInTable(path));
  if (outside !== undefined)
    throw unsuitable(
      world,
      `its file ${outside} lies outside of its folder. Export to another table.`,
    );
  return [...adds.values()];
}

/** Returns true for a log path below the table's folder: other writers may name any. */
export function isInTable(path: string): boolean {
  const name = decodedPath(path);
  return !/^([a-z][a-z0-9+.-]*:|\/)/i.test(name) && !name.split('/').includes('..');
}

/** Reads a data file of the table by its path in the log. Throws if it is gone. */
export async function readData({ log, folder }: World, path: string): Promise<Readable> {
  const content = isInTable(path)
    ? await log.files.read(`${folder}/${decodedPath(path)}`)
    : undefined;
  if (content === undefined) throw new Error(`The file ${path} of the table ${folder} is gone.`);
  return content;
}

/** Returns the values that a file's partition determines in columns of the rows, by column id. */
export function valuesBeside(
  { partitionValues: values }: Add,
  columns: readonly Pick<MergedColumn, 'id' | 'name'>[],
): Map<number, string | null> {
  return new Map(
    columns.flatMap(({ id, name }) =>
      name in values ? [[id, values[name] || null] as const] : [],
    ),
  );
}

/** Yields the rows of the table, with the values of these columns as text. */
export async function* rowsOf(
  world: World,
  state: State,
  columns: readonly { name: string }[],
): AsyncGenerator<ValueRow> {
  for (const add of filesOf(world, state)) {
    const bytes = await buffer(await readData(world, add.path));
    const own = namesIn(bytes);
    const { partitionValues: values } = add;
    const isBeside = (name: string) => name in values;
    const names = columns.map(({ name }) => (own.has(name) && !isBeside(name) ? name : null));
    for await (const { rows } of readParquets([{ bytes: Readable.from([bytes]), names }]))
      for (const row of rows)
        yield row.map((value, index) =>
          names[index] === null ? values[columns[index]!.name] || null : value,
        );
  }
}

/** Returns the column names of a Parquet file. */
function namesIn(bytes: Buffer): Set<string> {
  const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const [, ...elements] = parquetMetadata(whole as ArrayBuffer).schema;
  return new Set(elements.map(({ name }) => name));
}
