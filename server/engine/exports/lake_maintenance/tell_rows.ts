import { openRowDigest } from '../../destinations/contents/digest.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';

/** The row count of each file, and a digest that does not depend on order. */
export type ToldRows = { counts: number[]; digest: string };

/** Counts passing rows and adds up the hashes of their values. */
export function openTeller() {
  const sum = openRowDigest([{ type: 'text' }]);
  const counts: number[] = [];
  return {
    take(rows: ValueRow[], file: number) {
      counts[file] = (counts[file] ?? 0) + rows.length;
      for (const row of rows) sum.add([JSON.stringify(row)]);
    },
    finish: (): ToldRows => ({ counts, digest: sum.value() }),
  };
}

/** Counts the rows of files and adds up the hashes of their values. */
export async function tellRows(
  given: AsyncIterable<{ rows: ValueRow[]; file: number }>,
): Promise<ToldRows> {
  const teller = openTeller();
  for await (const { rows, file } of given) teller.take(rows, file);
  return teller.finish();
}
