import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { commandOn, openEmptyStores, passphrase } from '../../../test/factories/backups.ts';
import {
  first_hour_at,
  insertAt,
  openDeliveringHarness,
} from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { leastEnvironment } from '../../../test/processes/sluice_process.ts';
import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import { lockDataFolder } from '../../platform/folders/data_folder.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { silentLog } from '../../platform/log.ts';
import { migrations_folder } from '../process/process.ts';
import { RestoreUnfinishedError, joinStores, openStores } from '../stores/stores.ts';
import { UserError } from '../user_error.ts';
import { backup, createBackup, rowsOf } from './backup.ts';
import { controlFolder, copyControl } from './control_copy.ts';
import { chooseBackup, filesOf, listBackups, readManifest, writeManifest } from './manifest.ts';
import { openPlace } from './places/open_place.ts';
import { isWrittenName, written_folders } from './places/written_names.ts';
import { restoreBackup } from './restore.ts';

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));
let delivering: DeliveringHarness;
let home: TestOrganization;
let empty: Awaited<ReturnType<typeof openEmptyStores>>;
before(async () => {
  delivering = await openDeliveringHarness();
  empty = await openEmptyStores(delivering.stores, `restored_${randomBytes(5).toString('hex')}`);
  home = await delivering.harness.newOrganization();
  await insertEvents(600, first_hour_at);
});
after(async () => {
  await empty.close();
  await delivering.close();
});

const insertEvents = (count: number, from: number, step_ms = 1_000) =>
  insertAt(
    delivering.harness,
    home,
    Array.from({ length: count }, (_, number) => ({
      event: `event ${number}`,
      happened: from + number * step_ms,
      taken: from + number * step_ms,
    })),
  );
const source = () => commandOn(delivering.stores, delivering.folder);
const target = () => commandOn(empty, empty.folder);
const placeOf = (name: string) => openPlace(join(delivering.folder, name));
const options = { passphrase, rows_per_file: 120 };

/** The files that an unfinished backup names. */
async function listKept(path: string): Promise<string[]> {
  const { stretches } = JSON.parse(await readFile(path, 'utf8')) as {
    stretches: { file: { name: string } | null }[];
  };
  return stretches.flatMap(({ file }) => file?.name ?? []);
}

async function eventsOf(clickhouse_url: string): Promise<string> {
  const clickhouse = openClickHouse(clickhouse_url, { application: 'sluice-test' });
  const found = await clickhouse.query({
    query: 'SELECT * FROM events ORDER BY inserted_at, uuid',
    format: 'JSONEachRow',
  });
  const rows = await found.text();
  await clickhouse.close();
  return rows;
}

test('a backup is restored row by row, and a second one writes only what is new', async () => {
  const place = placeOf('round_trip');
  const first = await createBackup(source(), place, options);
  assert.equal(rowsOf(first.manifest, 'events'), 600);
  const left_out = ['sessions', 'visitor_salts', 'workers'];
  assert.ok(first.manifest.tables.every(({ name }) => !left_out.includes(name)));
  const files = (manifest: typeof first.manifest) =>
    manifest.stretches.flatMap(({ file }) => file?.name ?? []);
  assert.equal(files(first.manifest).length, 5);
  const { db } = delivering.harness.deps;
  // Its notes are in the analytics store, which a backup leaves out.
  await db.run(sql`INSERT INTO erasures (id, organization_id, team_id, kind, late_events, asked,
      step, due_at)
    VALUES (gen_random_uuid(), ${home.organization.id}, ${home.project.id}, 'persons', 'refuse',
      '{}', 'remove', '2099-01-01Z')`);
  await insertEvents(50, Date.parse(first.manifest.taken_at) + 1, 1);
  // Until then no backup has them: the seconds in which rows may still come.
  await pause(1_100);
  await eventually('the new rows are not below the cut', async () => {
    const second = await createBackup(source(), place, options);
    return rowsOf(second.manifest, 'events') === 650;
  });
  const newest = await chooseBackup(place);
  const kept = files(newest.manifest);
  assert.deepEqual(kept.slice(0, 5), files(first.manifest));
  await restoreBackup(target(), place, newest, passphrase, { compares: true });
  assert.equal(
    await eventsOf(empty.clickhouse_url),
    await eventsOf(delivering.stores.clickhouse_url),
  );
  const restored = openDatabase(empty.database_url, {
    connections_max: 1,
    application_name: 'sluice-test',
  });
  assert.deepEqual(await restored.rows(sql`SELECT step FROM erasures`), [{ step: 'resolve' }]);
  await restored.close();
  await db.run(sql`DELETE FROM erasures`);
  const [oldest, next] = await listBackups(place);
  const sealed = [await readManifest(place, oldest!), await readManifest(place, next!)];
  // One key opens both, and no two were sealed with the same initialization vector.
  const [one, other] = sealed.map(({ keys }) => keys);
  assert.equal(one!.salt, other!.salt);
  assert.notEqual(one!.sealed.slice(0, 16), other!.sealed.slice(0, 16));
  assert.equal((await chooseBackup(place, first.manifest.taken_at)).name, oldest);
  await assert.rejects(chooseBackup(place, '2020-01-01T00:00:00Z'), /is as old as 2020/);
});

test('removed rows are not in the next backup, and not kept by --keep', async () => {
  const place = placeOf('removed');
  const gone = await delivering.harness.newOrganization();
  await insertAt(delivering.harness, gone, [
    { event: 'gone', happened: first_hour_at, taken: first_hour_at + 5_000 },
  ]);
  const before_it = rowsOf((await createBackup(source(), place, options)).manifest, 'events');
  await delivering.harness.deps.clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = ${gone.project.id}`,
    clickhouse_settings: { mutations_sync: '2' },
  });
  const context = source();
  const theirs = join(place.name, 'analytics/report.parquet');
  await writeFile(theirs, 'what no backup wrote');
  assert.equal(await backup(context, place.name, { keep: '1', rowsPerFile: '120' }), 0);
  assert.ok(existsSync(theirs));
  // All that a backup writes has a name by which a later one may remove it.
  const unknown = [];
  for (const folder of written_folders)
    for await (const name of place.list(folder)) if (!isWrittenName(name)) unknown.push(name);
  assert.deepEqual(unknown, ['analytics/report.parquet']);
  const [left, ...others] = await listBackups(place);
  assert.deepEqual(others, []);
  const { manifest } = await readManifest(place, left!);
  assert.equal(rowsOf(manifest, 'events'), before_it - 1);
  // One of seven files was rewritten, and the one with the row is gone.
  const stored = await readdir(join(place.name, 'analytics/events'));
  const named = manifest.stretches.flatMap(({ table, file }) =>
    table === 'events' && file !== null ? [file.name.split('/').at(-1)] : [],
  );
  assert.deepEqual(stored.toSorted(), named.toSorted());
});

test('no other backup may begin before the end of one, and of what --keep removes', async () => {
  const place = placeOf('held');
  let created = 0;
  const finish = async () => {
    created = (await listBackups(place)).length;
    const other = createBackup(source(), place, options);
    await assert.rejects(other, /Another backup of this server is in progress/);
  };
  await createBackup(source(), place, { ...options, finish });
  assert.equal(created, 1);
});

test('two backups of one name leave the files of each other alone', async () => {
  const place = placeOf('one_name');
  const { database_url } = delivering.stores;
  const copies = [];
  for (const _ of [1, 2])
    copies.push(
      await copyControl(database_url, place, controlFolder('20261122T210000000Z'), () => {}),
    );
  const names = copies.flatMap(({ tables }) =>
    filesOf({ tables, stretches: [] }).map(({ name }) => name),
  );
  assert.equal(new Set(names).size, names.length);
});

test('a killed backup continues with the files that it has written', async () => {
  const place = placeOf('killed');
  const child = spawn(process.execPath, [main, 'backup', place.name, '--rows-per-file', '30'], {
    env: { ...leastEnvironment(), ...source().environment },
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const unfinished = join(place.name, 'unfinished.json');
  await eventually('nothing was kept', async () => {
    if (!existsSync(unfinished)) return false;
    return (await listKept(unfinished)).length > 0;
  });
  child.kill('SIGKILL');
  await exited;
  assert.deepEqual(await listBackups(place), []);
  await assert.rejects(chooseBackup(place), /There is no complete backup/);
  const kept = await listKept(unfinished);
  const { manifest } = await createBackup(source(), place, { ...options, rows_per_file: 30 });
  const names = manifest.stretches.flatMap(({ file }) => file?.name ?? []);
  assert.ok(kept.length > 0 && kept.every((name) => names.includes(name)));
  assert.equal(existsSync(unfinished), false);
});

test('wrong passphrase, damage, newer schema and a place in use are refused', async () => {
  const place = placeOf('refused');
  await createBackup(source(), place, options);
  const known = await chooseBackup(place);
  const refused = async (pattern: RegExp, given = known, phrase = passphrase) => {
    await assert.rejects(
      restoreBackup(target(), place, given, phrase),
      (error: Error) => error instanceof UserError && pattern.test(error.message),
    );
  };
  await refused(/The passphrase does not open the backup/, known, 'another passphrase');
  await assert.rejects(
    createBackup(source(), place, { ...options, passphrase: 'another passphrase' }),
    /The passphrase does not open/,
  );
  await mkdir(join(empty.folder, 'data'), { recursive: true });
  await writeFile(join(empty.folder, 'data', 'mine'), '');
  await refused(/The data folder .* is not empty/);
  await rm(join(empty.folder, 'data'), { recursive: true });

  await empty.renew();
  const db = openDatabase(empty.database_url, { connections_max: 1, application_name: 'test' });
  await db.text('CREATE TABLE mine (id integer)');
  await refused(/SLUICE_DATABASE_URL is not empty: it has the table mine/);
  await db.close();

  const newer = {
    ...known.manifest,
    release: '9.0.0',
    taken_at: '2027-01-01T00:00:00.000000Z',
    migrations: [...known.manifest.migrations, { name: '9999_later.sql', sha256: '' }],
  };
  await writeManifest(place, newer, { keys: ['k'], passphrase });
  await refused(
    /created by Sluice 9\.0\.0 and has the migration 9999_later/,
    await chooseBackup(place),
  );

  const file = known.manifest.stretches.find((stretch) => stretch.table === 'events')!.file!;
  const path = join(place.name, file.name);
  const bytes = await readFile(path);
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(path, bytes);
  await empty.renew();
  await refused(new RegExp(`is damaged: ${file.name} is missing or has changed`));
  assert.deepEqual(await readdir(join(empty.folder, 'data')), []);
  await rm(path);
  await refused(/is damaged: .* is missing/);
  const manifest = join(place.name, 'backups', `${known.name}.json`);
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('rows', 'rowz'));
  await assert.rejects(
    readManifest(place, known.name),
    new RegExp(`is damaged: its manifest.*move backups/${known.name}\\.json away`),
  );
});

test('no server or command starts on a folder with an unfinished restore', async () => {
  const config = { ...target().config, database_url: undefined, data_dir: empty.folder };
  await writeFile(join(empty.folder, 'restoring'), '');
  await assert.rejects(openStores(config, silentLog()), RestoreUnfinishedError);
  // Nor does a command beside it, as long as the restore is at work: it looks as a server does.
  const unlock = lockDataFolder(empty.folder);
  const { database_url, clickhouse_url } = empty;
  const running = { pid: process.pid, database_url, clickhouse_url };
  await writeFile(join(empty.folder, 'running.json'), JSON.stringify(running));
  for (const start of ['never', 'existing', 'always'] as const)
    await assert.rejects(joinStores(config, silentLog(), { start }), RestoreUnfinishedError);
  unlock();
});

test('the analytics store has no table that a backup leaves out', async () => {
  const found = await delivering.harness.deps.clickhouse.rows<{ name: string }>({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase()
      AND engine != 'View' AND name != 'migrations' ORDER BY name`,
  });
  const names = found.map(({ name }) => name);
  // Erasures find their own notes once more after a restore (runs/hold_until_reconciled.ts), and a
  // round of a table's maintenance begins with an empty stage.
  const noted = ['erasing_ids', 'erasing_rows', 'lake_rows'];
  assert.deepEqual(names, [...noted, ...row_tables].toSorted(), `see ${migrations_folder}`);
});
