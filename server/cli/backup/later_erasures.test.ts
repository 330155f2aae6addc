import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { commandOn, openEmptyStores, passphrase } from '../../../test/factories/backups.ts';
import {
  eventsIn,
  openDeliveringHarness,
} from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../../../test/factories/batch_exports/delivering_harness.ts';
import { erasing } from '../../../test/factories/events/erasures.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { leastEnvironment } from '../../../test/processes/sluice_process.ts';
import { startWorker } from '../../engine/exports/workers/worker.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';
import { createBackup } from './backup.ts';
import { listBackups, readManifest } from './manifest.ts';
import { openPlace } from './places/open_place.ts';
import { restoreBackup } from './restore.ts';

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));
const options = { passphrase, rows_per_file: 1_000 };
let delivering: DeliveringHarness;
let empty: Awaited<ReturnType<typeof openEmptyStores>>;
before(async () => {
  delivering = await openDeliveringHarness();
  empty = await openEmptyStores(delivering.stores, `restored_${randomBytes(5).toString('hex')}`);
  await delivering.startOnce();
});
after(async () => {
  await empty.close();
  await delivering.close();
});

const { ask, send, exported, work } = erasing(() => delivering);
const placeOf = (name: string) => openPlace(join(delivering.folder, name));
const source = () => commandOn(delivering.stores, delivering.folder);

/** A command on the empty stores, which reads and writes the files of the exports. */
function target() {
  const context = commandOn(empty, delivering.folder);
  context.config.data_dir = join(empty.folder, 'data');
  return context;
}

async function emptyAgain(): Promise<void> {
  await empty.renew();
  await rm(join(empty.folder, 'data'), { recursive: true, force: true });
}

async function namesIn(harness: Pick<Harness, 'deps'>, home: TestOrganization): Promise<string[]> {
  const rows = await harness.deps.clickhouse.rows<{ distinct_id: string }>({
    query: `SELECT distinct_id FROM events WHERE team_id = ${home.project.id}
      UNION DISTINCT SELECT distinct_id FROM persons WHERE team_id = ${home.project.id}`,
  });
  return rows.map(({ distinct_id }) => distinct_id).toSorted();
}

const restoredHarness = (): Promise<Harness> =>
  openHarness({
    clickhouse: false,
    config: { export_dir: delivering.folder, settle_seconds: 1 },
    deps: {
      db: openDatabase(empty.database_url, { connections_max: 8, application_name: 'sluice-test' }),
      clickhouse: openClickHouse(empty.clickhouse_url, { application: 'sluice-test' }),
    },
  });

/** Asks for an erasure, and waits until it is certified. */
async function erased(home: TestOrganization, body: object): Promise<string> {
  const { id } = (await ask(home, 'POST', 'erasures/', body)).body as { id: string };
  await work(home, id);
  return id;
}

/** Once its rows are below the cut: the seconds in which rows may still come are over. */
async function backupWith(place: ReturnType<typeof openPlace>, events: number): Promise<void> {
  await eventually('not all events are in the backup', async () => {
    const { manifest } = await createBackup(source(), place, options);
    const counts = manifest.stretches.map(({ table, rows }) => (table === 'events' ? rows : 0));
    return counts.reduce((sum, rows) => sum + rows, 0) >= events;
  });
}

test('a restore repeats the erasures that later backups record', async () => {
  const { db } = delivering.harness.deps;
  const home = await delivering.harness.newOrganization();
  const deleted = await delivering.harness.newOrganization();
  await send(home, [
    { event: 'visited', distinct_id: 'visitor-1' },
    {
      event: '$identify',
      distinct_id: 'ada@x.org',
      properties: { $anon_distinct_id: 'visitor-1' },
    },
    { event: 'paid', distinct_id: 'ada@x.org', $set: { name: 'Ada' } },
    { event: 'stays', distinct_id: 'bob@x.org', $set: { name: 'Bob' } },
    { event: 'waits', distinct_id: 'carl@x.org' },
    { event: 'filtered', distinct_id: 'bob@x.org' },
  ]);
  await send(deleted, [{ event: 'of a deleted project', distinct_id: 'dan' }]);
  const include_events = ['visited', '$identify', 'paid', 'stays', 'waits'];
  await exported(home, 'again', { include_events });
  const place = placeOf('later');
  await backupWith(place, 7);
  const first = (await listBackups(place)).at(-1)!;
  const ada = await erased(home, { distinct_ids: ['ada@x.org'] });
  const filter = await erased(home, { filter: { events: ['filtered'] } });
  const carl = (await ask(home, 'POST', 'erasures/', { distinct_ids: ['carl@x.org'] })).body
    .id as string;
  await db.run(sql`DELETE FROM projects WHERE id = ${deleted.project.id}`);
  await createBackup(source(), place, options);
  const unreadable = '29990101T000000000Z';
  await writeFile(join(place.name, `backups/${unreadable}.json`), '{}');
  await delivering.stopWorker();

  const { said } = await killedAndRestored(place, first);
  const told = said.join('\n');
  assert.match(told, new RegExp(`later backup ${unreadable} was not looked at`));
  assert.match(told, new RegExp(`Erasure ${filter} of project .* ask for it again`));
  assert.match(told, new RegExp(`Erasure ${carl} of project .* continues by itself`));
  assert.match(told, new RegExp(`The project ${deleted.project.id} .* is back: delete it again`));
  assert.match(told, /No backup in this place has the erasures after 20/);
  const again = new RegExp(`Erasure ${ada} of .* does it again, as erasure (.*)\\.`).exec(
    told,
  )?.[1];
  assert.ok(again, told);
  await afterRestore(home, { ada, again });
});

/** A restore that is killed when it erases is repeated, into empty databases, with all it does. */
async function killedAndRestored(place: ReturnType<typeof openPlace>, name: string) {
  const backup = await readManifest(place, name);
  const child = spawn(
    process.execPath,
    [main, 'restore', place.name, '--to', backup.manifest.taken_at],
    { env: { ...leastEnvironment(), ...target().environment }, stdio: 'ignore' },
  );
  const exited = once(child, 'exit');
  const looking = openDatabase(empty.database_url, {
    connections_max: 1,
    application_name: 'sluice-test',
  });
  await eventually('no erasure is entered', async () => {
    const there = await looking.row<{ is_there: boolean }>(
      sql`SELECT to_regclass('erasures') IS NOT NULL AS is_there`,
    );
    if (there?.is_there !== true) return false;
    const rows = await looking.rows(sql`SELECT 1 FROM erasures`);
    return rows.length > 0;
  });
  child.kill('SIGKILL');
  await exited;
  await looking.close();
  await emptyAgain();
  return restoreBackup(target(), place, backup, passphrase);
}

async function afterRestore(
  home: TestOrganization,
  { ada, again }: { ada: string; again: string },
): Promise<void> {
  const restored = await restoredHarness();
  const worker = await startWorker(restored.deps.engine, {
    runs_max: 2,
    project_runs_max: 2,
    host_runs_max: 2,
  });
  try {
    assert.deepEqual(await namesIn(restored, home), ['bob@x.org', 'carl@x.org']);
    const on = erasing(() => ({ harness: restored }));
    const old = (await on.ask(home, 'GET', `erasures/${ada}/`)).body;
    assert.equal(old.status, 'Completed');
    assert.match(old.certificate, new RegExp(ada));
    const late = await on.send(home, [{ event: 'late', distinct_id: 'visitor-1' }]);
    assert.equal(late.refused, 1);
    // Until then a delivery has a receipt of an erasure that the control store entered as done.
    assert.match(await differencesOf(restored), new RegExp(`rewritten for the erasure ${ada} `));
    const done = await on.work(home, again);
    assert.equal(done.counts.events, 3);
    assert.equal(done.copies.rewritten, 1);
    assert.deepEqual(await eventsIn(delivering.folder, 'again'), ['stays', 'waits']);
    assert.equal(await differencesOf(restored), '');
  } finally {
    await worker.stop();
    await restored.close();
  }
}

async function differencesOf({ deps }: Harness): Promise<string> {
  const findings = await verifyExports(deps.engine, undefined);
  const found = findings.flatMap(({ differences }) => differences);
  return found.map(({ name, detail }) => `${name}: ${detail}`).join('\n');
}
