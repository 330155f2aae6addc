import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import sql from 'sql-template-tag';
import { lookAtBackground } from '../../server/cli/doctor/background_findings.ts';
import { lookAtCluster } from '../../server/cli/doctor/cluster_findings.ts';
import { noteBackgroundMigrations } from '../../server/platform/background_migrations/files.ts';
import { listBackgroundMigrations } from '../../server/platform/background_migrations/standing.ts';
import { workBackgroundMigrations } from '../../server/platform/background_migrations/work.ts';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { migrateClickHouse } from '../../server/platform/clickhouse/migrate.ts';
import { findMode } from '../../server/platform/clickhouse/topology/detect.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openMetrics } from '../../server/platform/metrics.ts';
import { eventually } from '../eventually.ts';
import { openHarness } from '../harness.ts';
import type { Harness } from '../harness.ts';
import { openStandIn } from './cluster.ts';
import type { StandIn } from './cluster.ts';

// Tests the server's choice of replicas, on a stand-in of two.

const far = 600_000;
const migrations = join(import.meta.dirname, '../../migrations');
const folder = mkdtempSync(join(tmpdir(), 'sluice-replicas-'));
let cluster: StandIn;
/** Knows both replicas. */
let both: ClickHouse;
/** Its server reads from the second one alone. */
let harness: Harness;
let nodes: ClickHouseClient[];

before(async () => {
  cluster = await openStandIn({ folder: join(folder, 'cluster'), replicas: 2 });
  nodes = [0, 1].map((replica) => createClient({ url: cluster.url(replica), log: { level: 127 } }));
  both = openClickHouse(cluster.urls, { application: 'test' });
  const second = openClickHouse(cluster.url(1), { application: 'test' });
  for (const clickhouse of [both, second])
    assert.deepEqual(await findMode(clickhouse), { warning: undefined });
  await migrateClickHouse(both, join(migrations, 'clickhouse'));
  harness = await openHarness({ clickhouse: false, deps: { clickhouse: second } });
});

after(async () => {
  await harness.close();
  await both.close();
  await Promise.all(nodes.map((node) => node.close()));
  await cluster.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a reader sees rows that another replica got a moment ago', async () => {
  const { key, project } = await harness.newOrganization();
  const draft = {
    name: 'events',
    interval: 'hour',
    destination: { type: 'File', config: { prefix: 'events' } },
  };
  const url = `/api/projects/${project.id}/`;
  for (const [method, path, body] of [
    ['GET', (uuid: string) => `find/?uuid=${uuid}`, undefined],
    ['GET', () => 'events/?limit=1', undefined],
    ['GET', () => 'events/counts/?interval=day', undefined],
    ['POST', () => 'batch_exports/preview/', draft],
  ] as const) {
    const [uuid, name] = [randomUUID(), randomUUID()];
    const now = new Date().toISOString().slice(0, -1).replace('T', ' ');
    const times = { timestamp: now, created_at: now, inserted_at: now };
    cluster.stopFetches(1, 300);
    await nodes[0]!.insert({
      table: 'events',
      values: [{ team_id: project.id, uuid, event: name, distinct_id: 'ada', ...times }],
      format: 'JSONEachRow',
    });
    const answer = await harness.request(method, `${url}${path(uuid)}`, { key, body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const found = JSON.stringify(answer.body);
    if (path(uuid).includes('counts')) assert.match(found, /"events":3\b/);
    else assert.ok(found.includes(uuid), `${path(uuid)}: ${found}`);
  }
  cluster.setKeeper(true);
  const away = await harness.request('GET', `${url}find/?uuid=${randomUUID()}`, { key });
  cluster.setKeeper(false);
  assert.equal(away.status, 503, 'that it is not stored cannot be said');
});

test('a background migration is done, or withdrawn, on each replica', async () => {
  const { db } = harness.deps;
  const metrics = openMetrics({ process_metrics: false });
  const disk = { isFull: () => false };
  const work = { db, clickhouse: both, disk, log: silentLog(), metrics };
  const turn = () => workBackgroundMigrations(work, new AbortController().signal);
  const standing = async () => (await listBackgroundMigrations(db))[0]!;
  const ask = async (node: number, query: string) =>
    Number((await (await nodes[node]!.query({ query, format: 'TabSeparated' })).text()).trim());
  const changed = () =>
    Promise.all([0, 1].map((node) => ask(node, "SELECT count() FROM lines WHERE letter = 'A'")));
  // A client of several replicas may send a statement twice.
  for (const query of [
    `CREATE TABLE IF NOT EXISTS lines (at Date, line String, letter String)
      ENGINE = ReplicatedMergeTree PARTITION BY toYYYYMM(at) ORDER BY line`,
    "INSERT INTO lines SELECT toDate('2026-01-15'), 'a', '' FROM numbers(3)",
  ])
    await both.command({ query });
  const files = join(folder, 'background');
  const note = async (name: string, assignment: string) => {
    const own = mkdtempSync(files);
    writeFileSync(
      join(own, name),
      `-- Letters.\nALTER TABLE lines UPDATE ${assignment} IN PARTITION ID {partition} WHERE 1;\n`,
    );
    await noteBackgroundMigrations(db, own);
  };
  // Those of this release have their own tests.
  await db.run(sql`DELETE FROM background_migrations`);
  await note('0901_letters.sql', 'letter = upper(line)');
  // It has rows on both, because it begins on one that has caught up.
  await both.command({ query: 'SYSTEM SYNC REPLICA lines LIGHTWEIGHT' });
  await cluster.settled();
  for (const node of [0, 1]) cluster.stopFetches(node, far);
  await turn();
  await eventually('one replica changes its rows', async () => (await changed()).includes(3));
  assert.ok((await changed()).includes(0));
  for (let turns = 0; turns < 3; turns += 1) {
    await turn();
    assert.equal((await standing()).partitions_done, 0, 'the other one has not');
  }
  for (const node of [0, 1]) cluster.stopFetches(node, 0);
  await eventually('both have', async () => {
    await turn();
    return (await standing()).finished_at !== null;
  });
  assert.deepEqual(await changed(), [3, 3]);
  const asked = cluster.cluster.keeper.tables.get('sluice.lines')!.entries;
  assert.equal(asked.filter(({ kind }) => kind === 'change').length, 1, 'it was asked for once');

  await db.run(sql`DELETE FROM background_migrations`);
  await note('0902_fails.sql', "letter = toString(throwIf(1, 'no letter'))");
  // The second one hears of it when it was already taken back at the first.
  for (const node of [0, 1]) cluster.stopFetches(node, far);
  await eventually('it is told', async () => {
    await turn();
    return (await lookAtBackground(db))[0]?.state === 'warning';
  });
  for (const node of [0, 1]) cluster.stopFetches(node, 0);
  await cluster.settled();
  const failing = 'SELECT count() FROM system.mutations WHERE NOT is_done AND NOT is_killed';
  await eventually('it is taken back', async () => {
    const left = await Promise.all([0, 1].map((node) => ask(node, failing)));
    return left.every((count) => count === 0);
  });
});

test('the doctor names versions that may lose a repeated insert', async () => {
  const { db } = harness.deps;
  await db.run(sql`DELETE FROM background_migrations`);
  const found = async () =>
    (await lookAtCluster(both)).map(
      ({ state, subject, detail }) => `${state} ${subject} ${detail}`,
    );
  const well = await found();
  assert.match(well.join('\n'), /^ok ClickHouse 26\.7\.7\.87, the Replicated database sluice$/m);
  assert.equal(
    well.filter((line) => /^ok replica replica-[12] /.test(line)).length,
    2,
    String(well),
  );
  cluster.cluster.settings.version = '26.7.7.86';
  assert.match(
    (await found()).join('\n'),
    /^warning ClickHouse .*26\.7\.7\.86.*26\.3\.33\.61, 26\.6\.5\.114, 26\.7\.7\.87/m,
  );
});
