import type { TableField } from '../../../model/destination/partition.ts';
import type { Column } from '../../../model/models/column.ts';
import { folderText, null_folder } from '../../formats/naming.ts';
import { partitionValues } from './layout.ts';
import type { World } from './world.ts';

/** Stores take keys of 1,024 bytes; the names of files have the rest. */
const key_bytes_max = 1_024 - 144;
/** File systems take names of 255 bytes. */
const folder_bytes_max = 255;

/** The folders of rows with these values, as `foldersOf` gives them. */
export function partitionFolders(
  world: Pick<World, 'folder'>,
  fields: readonly TableField[],
  values: readonly (string | null)[],
  columns: readonly Pick<Column, 'name' | 'type'>[],
): string[] {
  const named = partitionValues(fields, values, columns);
  return foldersOf(world, Object.keys(named), named);
}

/**
 * The folders of a partition as other writers of Delta lay them (`event=%24pageview`), from its
 * values in the log. Readers such as polars take the values from there. None where they would be
 * too long.
 */
export function foldersOf(
  { folder }: Pick<World, 'folder'>,
  columns: readonly string[],
  values: Readonly<Record<string, string | null>>,
): string[] {
  const folders = columns.map((name) => {
    const value = values[name] ?? '';
    return `${folderText(name)}=${value === '' ? null_folder : folderText(value)}`;
  });
  const isLong =
    folders.some((one) => Buffer.byteLength(one) > folder_bytes_max) ||
    Buffer.byteLength([folder, ...folders].join('/')) > key_bytes_max;
  return isLong ? [] : folders;
}
