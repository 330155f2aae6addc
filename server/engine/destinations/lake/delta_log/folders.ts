import type { TableField } from '../../../model/destination/partition.ts';
import type { Column } from '../../../model/models/column.ts';
import { folderText, null_folder } from '../../formats/naming.ts';
import { partitionValues } from './layout.ts';
import type { World } from './world.ts';

/** Stores allow keys of 1,024 bytes; file names use the rest. */
const key_bytes_max = 1_024 - 144;
/** File systems allow names of 255 bytes. */
const folder_bytes_max = 255;

/** Returns the folders of rows with these values, like `foldersOf`. */
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
 * Returns the folders of a partition like other writers of Delta (`event=%24pageview`), from its
 * values in the log. Readers such as polars read the values from there. Empty if they would be too
 * long.
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
