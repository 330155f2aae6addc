import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import sql from 'sql-template-tag';
import { openBucket } from '../../server/engine/destinations/object_store/s3_bucket.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import type { Site } from './deployment.ts';
import { rowDigest } from './row_digest.ts';
import type { EventRow } from './row_digest.ts';

/** The digests of the rows at a destination, by uuid, one for each copy of the row. */
export type DeliveredRows = Map<string, string[]>;

/** The destinations of a campaign. */
export type Places = Pick<Site, 'export_dir' | 's3_config' | 'postgres_config' | 'warehouse'>;

/**
 * The destinations of a campaign: the requests that create their exports, and the functions that
 * read their rows.
 */
export const places: Record<
  string,
  { config(world: Places): Record<string, unknown>; read(world: Places): Promise<DeliveredRows> }
> = {
  File: {
    config: () => ({ prefix: 'campaign', file_format: 'JSONLines', max_file_size_mb: 1 }),
    read: (world) => readFiles(world),
  },
  S3: {
    config: ({ s3_config }) => ({
      ...s3_config,
      prefix: 'campaign',
      file_format: 'JSONLines',
      max_file_size_mb: 1,
    }),
    read: readObjects,
  },
  Postgres: {
    config: ({ postgres_config }) => ({ ...postgres_config, table_name: 'campaign' }),
    read: readTable,
  },
};

/** Returns the rows in the files that a File export shows below `prefix`. */
export async function readFiles(
  { export_dir }: Pick<Places, 'export_dir'>,
  prefix = 'campaign',
): Promise<DeliveredRows> {
  const folder = join(export_dir, prefix);
  const rows: DeliveredRows = new Map();
  // A hidden file is not visible yet, or never will be.
  for (const name of readdirSync(folder).filter(
    (one) => one.endsWith('.jsonl') && !one.startsWith('.'),
  ))
    await takeLines(rows, createReadStream(join(folder, name)));
  return rows;
}

async function readObjects({ s3_config }: Places): Promise<DeliveredRows> {
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  try {
    const bucket = openBucket(s3_config, outbound, new AbortController().signal);
    const rows: DeliveredRows = new Map();
    for await (const key of bucket.list('campaign', { direct: false }))
      if (key.endsWith('.jsonl')) await takeLines(rows, (await bucket.read(key))!);
    return rows;
  } finally {
    await outbound.close();
  }
}

async function readTable({ warehouse }: Places): Promise<DeliveredRows> {
  const rows: DeliveredRows = new Map();
  for (const row of await warehouse.rows<EventRow & { uuid: string }>(
    sql`SELECT uuid, event, distinct_id, timestamp, properties FROM campaign`,
  ))
    take(rows, row);
  return rows;
}

async function takeLines(rows: DeliveredRows, stream: Readable): Promise<void> {
  for await (const line of createInterface({ input: stream }))
    take(rows, JSON.parse(line) as EventRow & { uuid: string });
}

function take(rows: DeliveredRows, row: EventRow & { uuid: string }): void {
  const known = rows.get(row.uuid);
  if (known === undefined) rows.set(row.uuid, [rowDigest(row)]);
  else known.push(rowDigest(row));
}
