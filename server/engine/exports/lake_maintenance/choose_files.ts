import type { MaintenanceRules } from './rules.ts';

/** A data file of a table, in the order of its history. */
export type ChosenFile = { path: string; records: number; bytes: number };

/** From so many small files of a partition on they are merged at once, and not in a day. */
const files_min = 24;
/** A file of this part of the size that is aimed at is large enough. */
const large_part = 0.75;

/**
 * Chooses which files of one partition become one: neighbours in the order of history that are
 * small, up to the size and rows that are aimed at. Few of them wait until a day is over
 * (`is_daily`), so that a large file is not written again for each small one.
 */
export function chooseFiles<File extends ChosenFile>(
  files: readonly File[],
  { file_bytes, file_records }: Pick<MaintenanceRules, 'file_bytes' | 'file_records'>,
  is_daily: boolean,
): File[][] {
  const small = files.filter(
    ({ bytes, records }) => bytes < file_bytes * large_part && records < file_records * large_part,
  );
  const groups: File[][] = [];
  let [bytes, records] = [Infinity, 0];
  for (const file of small) {
    if (bytes + file.bytes > file_bytes || records + file.records > file_records) {
      groups.push([]);
      [bytes, records] = [0, 0];
    }
    groups.at(-1)!.push(file);
    bytes += file.bytes;
    records += file.records;
  }
  const least = is_daily ? 2 : files_min;
  return groups.filter((group, index) => group.length >= (index < groups.length - 1 ? 2 : least));
}
