import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { inDepth } from '../../../test/depth.ts';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { migrateClickHouse } from '../../platform/clickhouse/migrate.ts';
import { openEmbeddedClickHouse } from '../../platform/embedded/clickhouse/clickhouse.ts';
import { silentLog } from '../../platform/log.ts';
import { openDatabase } from '../../platform/postgres/database.ts';

const program = fileURLToPath(
  new URL('../../../test/processes/ingestion_process.ts', import.meta.url),
);
const migrations = fileURLToPath(new URL('../../../migrations/clickhouse', import.meta.url));
const events_per_batch = 20;

let stores: TestStores;
let folder: string;
// A store of its own, because it is killed.
let analytics: Awaited<ReturnType<typeof openEmbeddedClickHouse>>;
let clickhouse: ClickHouse;
before(async () => {
  stores = await openTestStores({ clickhouse: false });
  folder = await mkdtemp(join(tmpdir(), 'sluice-kill-'));
  analytics = await openEmbeddedClickHouse({ folder, log: silentLog() });
  clickhouse = openClickHouse(analytics.url, { application: 'test' });
  await migrateClickHouse(clickhouse, migrations);
});
after(async () => {
  await clickhouse.close();
  await analytics.stop();
  await rm(folder, { recursive: true, force: true });
  await stores.close();
});

test('kill -9 during ingestion loses nothing, and sending again doubles nothing', async () => {
  const teamId = await newProject();
  let acknowledged = -1;
  for (let round = 0; round < inDepth(1, 8); round += 1) {
    // Some batches are sent again, as a client does that does not know what became of them.
    const taker = take(teamId, Math.max(0, acknowledged - 2));
    acknowledged = Math.max(acknowledged, await taker.until(acknowledged + 1 + (round % 4)));
    acknowledged = Math.max(acknowledged, await taker.kill());
    await assertStored(teamId, acknowledged);
  }
  // The batch that the last kill hit may be there or not; sent again it is there once.
  const last = take(teamId, 0);
  acknowledged = Math.max(acknowledged, await last.until(acknowledged + 2));
  acknowledged = Math.max(acknowledged, await last.kill());
  await assertStored(teamId, acknowledged);
});

test('kill -9 of ClickHouse: acknowledged events are there, and ingestion continues', async () => {
  const teamId = await newProject();
  const taker = take(teamId, 0);
  let acknowledged = -1;
  for (let round = 0; round < inDepth(1, 3); round += 1) {
    acknowledged = await taker.until(acknowledged + 3);
    process.kill(analytics.pid!, 'SIGKILL');
    acknowledged = await taker.until(acknowledged + 2);
    await assertStored(teamId, acknowledged);
  }
  acknowledged = Math.max(acknowledged, await taker.kill());
  await assertStored(teamId, acknowledged);
});

async function newProject(): Promise<number> {
  const db = openDatabase(stores.database_url, { connections_max: 1, application_name: 'test' });
  const id = randomUUID();
  await db.run(sql`INSERT INTO organizations (id, name, slug) VALUES (${id}, 'Kill', ${id})`);
  const project = await db.row<{ id: number }>(
    sql`INSERT INTO projects (uuid, organization_id, name, api_token)
      VALUES (${randomUUID()}, ${id}, 'Kill', ${id}) RETURNING id`,
  );
  await db.close();
  return project!.id;
}

/**
 * Starts the program. `until` waits for the acknowledgement of a batch with at least this number,
 * `kill` ends it and gives the last one.
 */
function take(teamId: number, first: number) {
  const child: ChildProcess = spawn(
    process.execPath,
    [program, stores.database_url, analytics.url, String(teamId), String(first)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let latest = -1;
  let waiting: { number: number; resolve: (latest: number) => void } | undefined;
  const told = createInterface({ input: child.stdout! });
  told.on('line', (line) => {
    latest = Number(line);
    if (waiting !== undefined && latest >= waiting.number) waiting.resolve(latest);
  });
  const ended = new Promise<void>((resolve) => told.once('close', resolve));
  return {
    until: (number: number): Promise<number> => {
      if (latest >= number) return Promise.resolve(latest);
      const { promise, resolve } = Promise.withResolvers<number>();
      waiting = { number, resolve };
      return Promise.race([
        promise,
        ended.then(() => Promise.reject(new Error('The program ended by itself.'))),
      ]);
    },
    kill: async (): Promise<number> => {
      child.kill('SIGKILL');
      await ended;
      return latest;
    },
  };
}

async function assertStored(teamId: number, acknowledged: number): Promise<void> {
  const last = ((acknowledged + 1) * events_per_batch - 1).toString(16).padStart(12, '0');
  // The store may still be starting again.
  const [row] = await eventually('the store does not answer', () =>
    clickhouse
      .rows<{ rows: number; uuids: number; acknowledged: number; batches: number }>({
        query: `SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(uuid)) AS uuids,
            toUInt32(countIf(uuid <= toUUID({last:String}))) AS acknowledged,
              toUInt32(uniqExact(inserted_at)) AS batches
          FROM events WHERE team_id = {team_id:Int64}`,
        query_params: { team_id: teamId, last: `00000000-0000-4000-8000-${last}` },
      })
      .catch(() => undefined),
  );
  assert.equal(row!.acknowledged, (acknowledged + 1) * events_per_batch);
  assert.equal(row!.rows, row!.uuids);
  assert.equal(row!.rows % events_per_batch, 0, 'a batch was stored in part');
}
