import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { commandOn, openEmptyStores, passphrase } from '../../../test/factories/backups.ts';
import {
  insertAt,
  openDeliveringHarness,
} from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { DeliveringHarness } from '../../../test/factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { rememberErased } from '../../engine/ingest/persons/erased_ids.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import { readConfig } from '../../config/config.ts';
import { doctor } from '../doctor/doctor.ts';
import { migrate, migrationStatus } from '../migrate.ts';
import { UserError } from '../user_error.ts';
import { withoutPieces } from './analytics_copy.ts';
import { createBackup } from './backup.ts';
import { prepareForLost } from './lost_store.ts';
import type { Stretch } from './manifest.ts';
import { openPlace } from './places/open_place.ts';
import { chooseBackup } from './manifest.ts';
import { restoreBackup } from './restore.ts';

let delivering: DeliveringHarness;
let home: TestOrganization;
let gone: TestOrganization;
let empty: Awaited<ReturnType<typeof openEmptyStores>>;
const at = Date.parse('2026-01-01T00:00:00Z');
before(async () => {
  delivering = await openDeliveringHarness();
  empty = await openEmptyStores(delivering.stores, `restored_${randomBytes(5).toString('hex')}`);
  [home, gone] = [
    await delivering.harness.newOrganization(),
    await delivering.harness.newOrganization(),
  ];
});
after(async () => {
  await empty.close();
  await delivering.close();
});

const insert = (place: TestOrganization, event: string, taken: number) =>
  insertAt(delivering.harness, place, [{ event, happened: taken, taken }]);
async function eventsOf(clickhouse_url: string): Promise<string[]> {
  const clickhouse = openClickHouse(clickhouse_url, { application: 'sluice-test' });
  const rows = await clickhouse.rows<{ event: string }>({
    query: 'SELECT event FROM events ORDER BY event',
  });
  await clickhouse.close();
  return rows.map(({ event }) => event);
}

test('one store alone comes back, and what was removed after the backup does not', async () => {
  const { db, clickhouse, secrets } = delivering.harness.deps;
  const team_id = home.project.id;
  await insert(home, 'kept', at);
  await insert(gone, 'of a deleted project', at);
  await clickhouse.insert({
    table: 'events',
    values: [
      { team_id, event: 'of an erased person', distinct_id: 'ada', inserted_at: '2026-01-01' },
    ],
    format: 'JSONEachRow',
  });
  const place = openPlace(join(delivering.folder, 'alone'));
  const options = { passphrase, rows_per_file: 120 };
  await createBackup(commandOn(delivering.stores, delivering.folder), place, options);
  const backup = await chooseBackup(place);
  const nowhere = createBackup(commandOn(empty, empty.folder), place, options);
  await assert.rejects(nowhere, /The control store is empty: no server was started on it/);
  // Rows that came later.
  await insert(home, 'later', Date.now());
  const added = await delivering.harness.newOrganization();
  await insert(added, 'of a new project', Date.now());
  await db.run(sql`DELETE FROM projects WHERE id = ${gone.project.id}`);
  const erasure_id = randomUUID();
  await rememberErased(db, secrets, { team_id, erasure_id, late_events: 'refuse' }, ['ada']);
  await db.run(sql`INSERT INTO erasures (id, organization_id, team_id, kind, late_events, asked,
      status, step, finished_at)
    VALUES (${erasure_id}, ${home.organization.id}, ${team_id}, 'events', 'refuse', '{}',
      'Completed', 'done', now())`);

  // ClickHouse was lost: it comes back as it was, without what PostgreSQL knows to be gone.
  const without_events = { ...delivering.stores, clickhouse_url: empty.clickhouse_url };
  const context = () => commandOn(without_events, empty.folder);
  const lost = 'clickhouse';
  // Before that no server starts on the empty one, as if nothing were missing.
  await db.run(sql`UPDATE ingestion_states SET last_inserted_at = '2026-01-01Z'`);
  const told = /analytics store is empty, but this server has ingested.*--lost clickhouse/;
  await assert.rejects(migrate(context()), told);
  // The option for a moved database says nothing about lost rows.
  await assert.rejects(migrate(context(), { acceptStore: 'postgres' }), told);
  await assert.rejects(createBackup(context(), place, options), told);
  const looking = context();
  assert.equal(await migrationStatus(looking), 1);
  assert.match(looking.said.join('\n'), told);
  const { exports, said } = await restoreBackup(context(), place, backup, passphrase, { lost });
  assert.deepEqual(await eventsOf(empty.clickhouse_url), ['kept']);
  assert.deepEqual(exports, []);
  assert.equal(said.length, 1);
  assert.match(
    said[0]!,
    new RegExp(`Erasure ${erasure_id} of project ${team_id}.*: request the erasure again`),
  );
  const projects = await db.rows<{ id: number }>(sql`SELECT id FROM projects ORDER BY id`);
  assert.deepEqual(
    projects.map(({ id }) => id),
    [team_id, added.project.id],
    'what was decided is as it was',
  );
  await assert.rejects(
    restoreBackup(context(), place, backup, passphrase, { lost }),
    /SLUICE_CLICKHOUSE_URL is not empty/,
  );
  // A database of one's own that was not restored stays a wreck that nothing starts on.
  assert.equal(await readFile(join(empty.folder, 'data/restoring'), 'utf8'), 'clickhouse');
  await assert.rejects(
    restoreBackup(context(), place, backup, passphrase),
    /with --lost clickhouse/,
  );
  await rm(join(empty.folder, 'data'), { recursive: true });

  // PostgreSQL was lost: every event is there, also of a project that it does not know any more.
  // A row that has taken the token of a batch is of no project.
  await clickhouse.insert({
    table: 'persons',
    values: [{ team_id: 0, inserted_at: '2026-01-01' }],
    format: 'JSONEachRow',
  });
  const without_people = { ...delivering.stores, database_url: empty.database_url };
  const before_it = await eventsOf(delivering.stores.clickhouse_url);
  // Before that no server gives a new project the number, and the events, of one of before.
  const alone = commandOn(without_people, empty.folder);
  const told_control =
    /control store is empty, and the analytics store has events.*--lost postgres/;
  await assert.rejects(migrate(alone), told_control);
  await assert.rejects(createBackup(alone, place, options), told_control);
  assert.equal(await migrationStatus(alone), 1);
  assert.match(alone.said.join('\n'), told_control);
  const restored = await restoreBackup(
    commandOn(without_people, empty.folder),
    place,
    backup,
    passphrase,
    { lost: 'postgres' },
  );
  assert.deepEqual(await eventsOf(delivering.stores.clickhouse_url), before_it);
  assert.match(
    restored.said.join('\n'),
    new RegExp(`^Project ${added.project.id} was created after`),
  );
  const other = openDatabase(empty.database_url, { connections_max: 1, application_name: 'test' });
  const row = await other.row<{ next: number; settled: string }>(sql`
    SELECT nextval(pg_get_serial_sequence('projects', 'id'))::int AS next, (SELECT settled_until
      FROM ingestion_states WHERE team_id = ${team_id}) AS settled`);
  assert.ok(row!.next > added.project.id);
  assert.ok(Date.parse(row!.settled) > Date.now() - 60_000);
  await other.close();
});

test('a lost embedded store beside a named one is reported, not created', async () => {
  await insert(home, 'taken in', at);
  const { db } = delivering.harness.deps;
  await db.run(sql`UPDATE ingestion_states SET last_inserted_at = '2026-01-01Z'`);
  const { database_url, clickhouse_url } = delivering.stores;
  for (const [lost, url] of [
    ['clickhouse', { SLUICE_DATABASE_URL: database_url }],
    ['postgres', { SLUICE_CLICKHOUSE_URL: clickhouse_url }],
  ] as const) {
    const SLUICE_DATA_DIR = join(empty.folder, `without ${lost}`);
    const context = {
      ...commandOn(empty, empty.folder),
      config: readConfig({ ...url, SLUICE_DATA_DIR }),
    };
    const told = new RegExp(`store is empty, (?:and|but) .*--lost ${lost}`);
    await assert.rejects(migrationStatus(context), told);
    assert.equal(await doctor(context), 1);
    assert.match(context.said.join('\n'), told);
    assert.equal(existsSync(SLUICE_DATA_DIR), false);
  }
});

test('a server continues without rows that a person has declared lost', async () => {
  await empty.renew();
  const without_events = { ...delivering.stores, clickhouse_url: empty.clickhouse_url };
  const context = commandOn(without_events, empty.folder);
  assert.equal(await migrate(context, { acceptStore: 'clickhouse' }), 0);
  assert.equal(await migrate(context), 0);
});

test('a folder that lacks the other store, or has this one, is refused', async () => {
  const { config } = commandOn(delivering.stores, empty.folder);
  const embedded = { ...config, database_url: undefined, clickhouse_url: undefined };
  const refused = (pattern: RegExp) =>
    assert.rejects(
      prepareForLost(embedded, 'postgres'),
      (error: Error) => error instanceof UserError && pattern.test(error.message),
    );
  await rm(embedded.data_dir, { recursive: true, force: true });
  await refused(/has no ClickHouse to keep/);
  for (const store of ['clickhouse', 'postgres']) {
    await mkdir(join(embedded.data_dir, store), { recursive: true });
    await writeFile(join(embedded.data_dir, store, 'file'), '');
  }
  await refused(/There is a PostgreSQL in .* Move it to another place/);
  await rm(join(embedded.data_dir, 'postgres'), { recursive: true });
  await prepareForLost(embedded, 'postgres');
  await mkdir(join(embedded.data_dir, 'postgres'));
  // Killed in the middle: it begins anew, and touches what is kept in no way.
  await prepareForLost(embedded, 'postgres');
  assert.deepEqual((await readdir(embedded.data_dir)).toSorted(), ['clickhouse', 'restoring']);
  assert.deepEqual(await readdir(join(embedded.data_dir, 'clickhouse')), ['file']);
  await rm(embedded.data_dir, { recursive: true });
});

test('many small files of a backup are rewritten as few', () => {
  const stretches = (rows: number[]): Stretch[] =>
    rows.map((count, index) => ({
      table: 'events',
      from: index,
      to: index + 1,
      columns: [],
      rows: count,
      file: { name: String(index), bytes: 1, sha256: '' },
    }));
  const left = (rows: number[]) => withoutPieces(stretches(rows), 100).map(({ rows: one }) => one);
  const small = Array.from({ length: 16 }, () => 3);
  assert.deepEqual(left([90, ...small]), [90]);
  assert.deepEqual(left([90, ...small.slice(1), 60, 5]), [90, ...small.slice(1), 60, 5]);
  const [first, ...others] = stretches(small);
  const apart = [first!, ...others.map((one) => ({ ...one, from: one.from + 5, to: one.to + 5 }))];
  assert.equal(withoutPieces(apart, 100).length, 16, 'what does not touch is not joined');
});
