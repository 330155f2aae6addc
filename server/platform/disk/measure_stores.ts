import { statfs } from 'node:fs/promises';
import sql from 'sql-template-tag';
import type { ClickHouse } from '../clickhouse/client.ts';
import type { Queryable } from '../postgres/database.ts';
import type { Measured } from './disk_room.ts';

/**
 * The places to measure: the folder of embedded stores (undefined without one), the disks of an
 * external ClickHouse and, with a budget, the size of both stores. An external PostgreSQL cannot
 * report its disk.
 */
export type StorePlaces = {
  db: Queryable;
  clickhouse: ClickHouse;
  folder: string | undefined;
  has_own_clickhouse: boolean;
  has_budget: boolean;
};

/** Measures the space of the stores; rejects if one of them does not answer. */
export async function measureStores(places: StorePlaces): Promise<Measured> {
  const { db, clickhouse, folder, has_own_clickhouse, has_budget } = places;
  return {
    places: [
      ...(folder === undefined ? [] : [await folderPlace(folder)]),
      ...(has_own_clickhouse ? await clickhouseDisks(clickhouse) : []),
    ],
    used_bytes: has_budget ? await usedBytes(db, clickhouse) : undefined,
  };
}

async function folderPlace(folder: string): Promise<Measured['places'][number]> {
  const { bavail, blocks, bsize, ffree, files } = await statfs(folder);
  return {
    name: 'data folder',
    free_bytes: bavail * bsize,
    total_bytes: blocks * bsize,
    inodes: { free: ffree, total: files },
  };
}

// Object stores report unlimited space.
async function clickhouseDisks(clickhouse: ClickHouse): Promise<Measured['places']> {
  const rows = await clickhouse.rows<{ name: string; free: string; total: string }>({
    query: `SELECT name, toString(unreserved_space) AS free, toString(total_space) AS total
      FROM system.disks WHERE total_space < toUInt64(-1)`,
  });
  return rows.map(({ name, free, total }) => ({
    name: `disk "${name}" of ClickHouse`,
    free_bytes: Number(free),
    total_bytes: Number(total),
  }));
}

async function usedBytes(db: Queryable, clickhouse: ClickHouse): Promise<number> {
  const [parts] = await clickhouse.rows<{ bytes: string }>({
    query: `SELECT toString(sum(bytes_on_disk)) AS bytes FROM system.parts
      WHERE database = currentDatabase()`,
  });
  const row = await db.row<{ bytes: number }>(
    sql`SELECT pg_database_size(current_database())::float8 AS bytes`,
  );
  return Number(parts?.bytes ?? 0) + (row?.bytes ?? 0);
}
