import type { MaintenanceRules } from './rules.ts';

/** A data file of a table, in the order of its history. */
export type ChosenFile = { path: string; records: number; bytes: number };

/** From this many small files in a partition, they are merged at once instead of daily. */
const files_min = 24;
/** A file with this part of the target size is large enough. */
const large_part = 0.75;

/**
 * Chooses which files of one partition to merge: small neighbours in the order of history, up to
 * the target size and rows. A few small files wait for the daily round (`is_daily`), so that not
 * each of them rewrites a large file.
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
