import { finished } from 'node:stream/promises';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { readFile } from './backup_file.ts';
import type { Manifest, Stretch } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';
import { counted } from '../../platform/counted.ts';

/** Fills an empty analytics store with the backup's schema, and counts its rows afterwards. */
export async function fillAnalytics(
  clickhouse: ClickHouse,
  place: BackupPlace,
  { stretches }: Pick<Manifest, 'stretches'>,
  tell: (line: string) => void,
): Promise<void> {
  const filled = stretches.filter(({ file }) => file !== null);
  for (const [index, stretch] of filled.entries()) {
    await fillStretch(clickhouse, place, stretch);
    tell(`analytics store: ${index + 1} of ${counted(filled.length, 'file')}`);
  }
  for (const table of row_tables) {
    const wanted = stretches.reduce((sum, one) => sum + (one.table === table ? one.rows : 0), 0);
    const [row] = await clickhouse.rows<{ rows: string }>({
      query: `SELECT count() AS rows FROM ${table}`,
    });
    if (Number(row?.rows) !== wanted)
      throw new Error(
        `The table ${table} has ${counted(Number(row?.rows ?? 0), 'row')} after the restore, ` +
          `not ${wanted}.`,
      );
  }
}

async function fillStretch(
  clickhouse: ClickHouse,
  place: BackupPlace,
  { table, columns, file }: Stretch,
): Promise<void> {
  const values = await readFile(place, file!);
  let fault: unknown;
  values.once('error', (error) => (fault = error));
  try {
    const { stream } = await clickhouse.exec({
      query: `INSERT INTO ${table} (${columns.join(', ')}) FORMAT Native`,
      values,
      clickhouse_settings: {
        max_insert_threads: '1',
        max_partitions_per_insert_block: '0',
        min_insert_block_size_rows: '100000',
        min_insert_block_size_bytes: '67108864',
      },
    });
    await finished(stream.resume());
  } catch (error) {
    // The store's error only says that the rows were cut off.
    throw fault ?? error;
  }
}
