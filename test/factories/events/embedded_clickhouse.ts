import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import { openEmbeddedClickHouse } from '../../../server/platform/embedded/clickhouse/clickhouse.ts';
import { silentLog } from '../../../server/platform/log.ts';

/** All bytes of a stream. */
export async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * Starts a separate embedded ClickHouse in `root`, with a client; `rows` and `bytes` run queries,
 * `running` counts its queries that contain a text.
 */
export async function openOwnClickHouse() {
  const root = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-'));
  const store = await openEmbeddedClickHouse({ folder: join(root, 'data'), log: silentLog() });
  const client = createClient({
    url: store.url,
    log: { level: 127 },
    max_open_connections: 64,
    request_timeout: 60_000,
  });
  const rows = async (
    query: string,
    more: Partial<Parameters<ClickHouseClient['query']>[0]> = {},
  ): Promise<unknown[]> => (await client.query({ query, ...more, format: 'JSONEachRow' })).json();
  return {
    root,
    store,
    client,
    rows,
    bytes: async (query: string, settings = {}): Promise<Buffer> =>
      bytesOf((await client.exec({ query, clickhouse_settings: settings })).stream),
    running: async (marker: string): Promise<number> => {
      const found = await rows(
        'SELECT 1 FROM system.processes WHERE query LIKE {like:String} AND query NOT LIKE ' +
          "'%system.processes%'",
        { query_params: { like: `%${marker}%` } },
      );
      return found.length;
    },
    close: async () => {
      await client.close();
      await store.stop();
      await rm(root, { recursive: true, force: true });
    },
  };
}
