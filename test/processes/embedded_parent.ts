/**
 * Opens both stores and reports it, for the tests that kill it: `node embedded_parent.ts <folder>`.
 */
import { join } from 'node:path';
import { silentLog } from '../../server/platform/log.ts';
import { openEmbeddedClickHouse } from '../../server/platform/embedded/clickhouse/clickhouse.ts';
import { openEmbeddedPostgres } from '../../server/platform/embedded/postgres/postgres.ts';

const folder = process.argv[2] ?? '';
const log = silentLog();
const stores = await Promise.all([
  openEmbeddedPostgres({ folder: join(folder, 'postgres'), log }),
  openEmbeddedClickHouse({ folder: join(folder, 'clickhouse'), log }),
]);
process.stdout.write(`${JSON.stringify(stores.map(({ url, pid }) => ({ url, pid })))}\n`);
