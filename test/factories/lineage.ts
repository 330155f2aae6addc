import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { liveFiles } from '../../server/engine/destinations/iceberg/live_files.ts';
import type { World } from '../../server/engine/destinations/iceberg/world.ts';

/** A row with its id and the number of the commit that last changed it; null for none. */
export type TracedRow = { key: string; value: string; id: number | null; sequence: number };

/**
 * Reads the rows of a table of format version 3 in the export folder by the rules of the
 * specification. A row without its own id has the id of its file plus its position.
 */
export async function tracedRows(
  world: World,
  [key, value]: [string, string],
): Promise<TracedRow[]> {
  const rows: TracedRow[] = [];
  for (const [uri, entries] of await liveFiles(world))
    for (const { first_row_id: first, sequence_number } of entries) {
      const bytes = await readFile(fileURLToPath(uri));
      const file = new Uint8Array(bytes).buffer;
      const elements = parquetMetadata(file).schema;
      const byId = (id: number) => elements.find(({ field_id }) => field_id === id)?.name ?? '';
      const read = await parquetReadObjects({
        file,
        compressors: { ZSTD: (packed) => zstdDecompressSync(packed) },
      });
      for (const [place, row] of read.entries()) {
        const id = (row[byId(2_147_483_540)] ?? null) as bigint | null;
        const sequence = (row[byId(2_147_483_539)] ?? null) as bigint | null;
        rows.push({
          key: String(row[key]),
          value: String(row[value]),
          id: id === null ? (first === null ? null : Number(first) + place) : Number(id),
          sequence: Number(sequence ?? sequence_number),
        });
      }
    }
  return rows.toSorted((a, b) => (a.key + a.value < b.key + b.value ? -1 : 1));
}
