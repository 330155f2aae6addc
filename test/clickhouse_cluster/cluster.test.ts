import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test as testOf } from 'node:test';
import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import { is_deep, only_deep } from '../depth.ts';
import { openStandIn } from './cluster.ts';
import type { StandIn } from './cluster.ts';
import { no_trouble } from './settings.ts';
import type { Weakness } from './settings.ts';

const test = (title: string, body: () => Promise<void>): void =>
  void testOf(title, { skip: only_deep }, body);
const folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-'));
const weaknesses = new Set<Weakness>();
const trouble = { ...no_trouble };
const far = 600_000;
let cluster: StandIn;
let nodes: ClickHouseClient[];

before(async () => {
  if (!is_deep) return;
  cluster = await openStandIn({ folder, weaknesses, trouble });
  const urls = [...cluster.urls.split(','), cluster.balancer_url];
  nodes = urls.map((url) => createClient({ url, log: { level: 127 } }));
  await create('rows');
});

after(async () => {
  await Promise.all((nodes ?? []).map((node) => node.close()));
  await cluster?.close();
  rmSync(folder, { recursive: true, force: true });
});

const create = (table: string, engine = 'ReplicatedMergeTree') =>
  nodes[0]!.command({
    query: `CREATE TABLE IF NOT EXISTS ${table} (id UInt32) ENGINE = ${engine} ORDER BY id`,
  });

const insert = (node: number, ids: number[], settings = {}, table = 'rows') =>
  nodes[node]!.insert({
    table,
    values: ids.map((id) => ({ id })),
    format: 'JSONEachRow',
    clickhouse_settings: settings,
  });

async function ask<Row>(node: number, query: string): Promise<Row[]> {
  return (await nodes[node]!.query({ query, format: 'JSONEachRow' })).json<Row>();
}

const count = async (node: number, where: string, table = 'rows') =>
  Number(
    (await ask<{ n: string }>(node, `SELECT count() AS n FROM ${table} WHERE ${where}`))[0]!.n,
  );
const counts = (where: string, table = 'rows') =>
  Promise.all([0, 1, 2].map((node) => count(node, where, table)));

const sync = (node: number, seconds = 30) =>
  nodes[node]!.command({
    query: 'SYSTEM SYNC REPLICA rows LIGHTWEIGHT',
    clickhouse_settings: { receive_timeout: seconds },
  });
const quorum = { insert_quorum: 'auto', insert_quorum_timeout: 20_000 } as const;

/** With fetches of all but the first replica stopped. */
async function whileBehind(work: () => Promise<void>): Promise<void> {
  for (const node of [1, 2]) cluster.stopFetches(node, far);
  try {
    await work();
  } finally {
    for (const node of [1, 2]) cluster.stopFetches(node, 0);
  }
}

async function withWeakness(weakness: Weakness, work: () => Promise<unknown>): Promise<void> {
  weaknesses.add(weakness);
  await work().finally(() => weaknesses.delete(weakness));
}

test('definitions are everywhere, rows of plain tables are not', async () => {
  await create('plain', 'MergeTree');
  await insert(0, [1], {}, 'plain');
  assert.deepEqual(await counts('1', 'plain'), [1, 0, 0]);
  await assert.rejects(
    nodes[0]!.command({ query: "CREATE TABLE x ON CLUSTER 'c' (id Int8) ENGINE = Memory" }),
    { code: '80' },
  );
  const told = await ask<{ name: string; engine: string }>(
    2,
    "SELECT name, engine FROM system.tables WHERE database = currentDatabase() AND name LIKE 'r%'",
  );
  assert.deepEqual(told, [{ name: 'rows', engine: 'ReplicatedMergeTree' }]);
  assert.deepEqual(
    await ask(
      0,
      'SELECT hostName() AS host, engine, version() AS version FROM system.databases ' +
        'WHERE name = currentDatabase()',
    ),
    [{ host: 'replica-1', engine: 'Replicated', version: '26.7.7.87' }],
  );
  await withWeakness('there are several shards', async () => {
    const shards = await ask(0, 'SELECT max(shard_num) AS shards FROM system.clusters');
    assert.deepEqual(shards, [{ shards: 3 }]);
  });
});

test('rows come to the others late, and SYNC REPLICA waits for them', async () => {
  await whileBehind(async () => {
    await insert(0, [10, 11]);
    assert.deepEqual(await counts('id IN (10, 11)'), [2, 0, 0]);
    await assert.rejects(sync(1, 0), { code: '159' });
    await withWeakness('no waiting for others', () => sync(1));
    await withWeakness('requests are spread', async () => {
      await sync(1);
      assert.equal(await count(0, 'id IN (10, 11)'), 0);
    });
  });
  await sync(1);
  assert.equal(await count(1, 'id IN (10, 11)'), 2);
});

test('an insert waits for its quorum, and reports an impossible one', async () => {
  await whileBehind(async () => {
    await assert.rejects(insert(0, [20], { ...quorum, insert_quorum_timeout: 20 }), {
      code: '319',
    });
    // It is there all the same.
    assert.equal(await count(0, 'id = 20'), 1);
    await withWeakness('no quorum', () => insert(0, [21], quorum));
  });
  await insert(0, [22], quorum);
  const found = await counts('id = 22');
  assert.ok(found.filter((rows) => rows === 1).length >= 2, found.join());
  for (const node of [1, 2]) cluster.setState(node, 'refusing');
  await assert.rejects(insert(0, [23], quorum), { code: '285' });
  for (const node of [1, 2]) cluster.setState(node, 'up');
});

test('a block of the same token or rows is taken once while it is remembered', async () => {
  const token = { insert_deduplication_token: randomUUID() };
  await insert(0, [30], token);
  await insert(1, [31], token);
  await insert(2, [30]);
  await insert(1, [30]);
  await cluster.settled();
  assert.deepEqual(await counts('id IN (30, 31)'), [2, 2, 2]);
  await insert(1, [30], { insert_deduplicate: 0 });
  await withWeakness('no deduplication', () => insert(1, [31], token));
  await cluster.settled();
  assert.deepEqual(await counts('id IN (30, 31)'), [4, 4, 4]);
  const log = cluster.cluster.keeper.tables.get('sluice.rows')!;
  const { window } = { ...log };
  log.window = 1;
  await insert(0, [32], token);
  await insert(0, [33]);
  await insert(0, [34], token);
  log.window = window;
  const busy = { insert_deduplication_token: 'busy' };
  await withWeakness('others insert without bound', () => insert(0, [35], busy));
  await insert(1, [36], busy);
  await cluster.settled();
  assert.deepEqual(await counts('id IN (32, 33, 34)'), [2, 2, 2]);
  assert.deepEqual(await counts('id IN (35, 36)'), [2, 2, 2]);
});

test('a cancelled insert of an old version is taken for a repetition, and lost', async () => {
  const cancelled = async (id: number) => {
    const query_id = randomUUID();
    const done = nodes[0]!.insert({
      table: 'rows',
      values: [{ id }],
      format: 'JSONEachRow',
      query_id,
      clickhouse_settings: { insert_deduplication_token: query_id },
    });
    const killed = assert.rejects(done, { code: '394' });
    while (!(cluster.replicas[0]!.processes.values().next().value?.query_id === query_id))
      await new Promise((resolve) => setImmediate(resolve));
    await nodes[1]!.command({ query: `KILL QUERY WHERE query_id = '${query_id}' ASYNC` });
    assert.equal(cluster.replicas[0]!.processes.size, 1, 'a KILL reaches no other node');
    const found = await ask(
      1,
      `SELECT hostName() AS host FROM clusterAllReplicas('sluice', system.processes)
        WHERE query_id = '${query_id}'`,
    );
    assert.deepEqual(found, [{ host: 'replica-1' }]);
    await nodes[0]!.command({ query: `KILL QUERY WHERE query_id = '${query_id}' ASYNC` });
    await killed;
    await insert(1, [id], { insert_deduplication_token: query_id });
    await cluster.settled();
    return count(0, `id = ${id}`);
  };
  Object.assign(trouble, { commit_ms_max: 3_000 });
  const { random } = cluster.cluster.settings;
  const between = random.between;
  random.between = (_from, to) =>
    to === 3_000 && cluster.replicas[0]!.processes.size > 0 ? to : 0;
  try {
    assert.equal(await cancelled(40), 1);
    await withWeakness('cancelled inserts leave a hash', async () =>
      assert.equal(await cancelled(41), 0),
    );
  } finally {
    Object.assign(trouble, no_trouble);
    random.between = between;
  }
});

test('a mutation reaches on all replicas what was inserted before, and nothing after', async () => {
  await whileBehind(async () => {
    await insert(0, [50, 51]);
    await nodes[0]!.command({ query: 'ALTER TABLE rows DELETE WHERE id = 50' });
    const open = 'SELECT is_done FROM system.mutations WHERE database = currentDatabase()';
    assert.deepEqual(await ask(1, `${open} AND NOT is_done`), [{ is_done: 0 }]);
    await insert(0, [50], { insert_deduplicate: 0 });
  });
  await cluster.settled();
  assert.deepEqual(await counts('id IN (50, 51)'), [2, 2, 2]);
  cluster.setState(2, 'refusing');
  await assert.rejects(
    nodes[0]!.command({
      query: 'ALTER TABLE rows DELETE WHERE id IN (50, 51)',
      clickhouse_settings: { mutations_sync: '2' },
    }),
    { code: '341' },
  );
  cluster.setState(2, 'up');
  await cluster.settled();
  assert.deepEqual(await counts('id IN (50, 51)'), [0, 0, 0]);
});

test('a killed engine has a block once or not; a replaced one fetches all', async () => {
  const inserted = Promise.allSettled(
    [60, 61, 62, 63].map((id) => insert(0, [id, id], { insert_deduplicate: 0 })),
  );
  cluster.kill(0);
  const answered = (await inserted).map(({ status }) => status);
  await cluster.replace(2);
  await cluster.settled();
  for (const [index, status] of answered.entries()) {
    const found = await counts(`id = ${60 + index}`);
    assert.equal(new Set(found).size, 1, found.join());
    assert.ok(found[0] === 2 || (found[0] === 0 && status === 'rejected'), `${found[0]} ${status}`);
  }
  assert.deepEqual(
    await ask(
      0,
      `SELECT hostName() AS host, count() > 10 AS has FROM
      clusterAllReplicas('{cluster}', sluice.rows) GROUP BY host ORDER BY host`,
    ),
    [1, 2, 3].map((number) => ({ host: `replica-${number}`, has: 1 })),
  );
});

test('a block that only a lost replica had is lost, and its hash may stay', async () => {
  await whileBehind(async () => {
    await insert(0, [70], { insert_deduplication_token: 'lost' });
    await cluster.replace(0);
  });
  await insert(1, [70], { insert_deduplication_token: 'lost' });
  await cluster.settled();
  assert.deepEqual(await counts('id = 70'), [0, 0, 0]);
});

test('the connection is cut, requests come late and twice, and inserts end unknown', async () => {
  const { random } = cluster.cluster.settings;
  const { next } = random;
  try {
    random.next = () => 0.9;
    Object.assign(trouble, { cut: 1 });
    await assert.rejects(ask(0, 'SELECT number FROM numbers(200000)'));
    Object.assign(trouble, { cut: 0, repeat: 1, late_ms_max: 1 });
    await insert(3, [80], { insert_deduplicate: 0 });
    const { entries } = cluster.cluster.keeper.tables.get('sluice.rows')!;
    const tries = () => entries.filter(({ body }) => body?.toString().includes('80')).length;
    assert.ok(await cluster.cluster.changes.until(() => tries() === 2, 10_000));
    // A proxy tries again what broke off, and an old version takes that for a repetition.
    random.next = () => 0.1;
    await insert(3, [78]);
    await withWeakness('cancelled inserts leave a hash', () => insert(3, [79]));
  } finally {
    random.next = next;
    Object.assign(trouble, { repeat: 0, unknown: 1 });
  }
  const outcomes = await Promise.allSettled(
    Array.from({ length: 12 }, (_, index) => insert(3, [81 + index])),
  );
  Object.assign(trouble, no_trouble);
  assert.ok(outcomes.every(({ status }) => status === 'rejected'));
  await cluster.settled();
  assert.deepEqual(await counts('id = 78'), [1, 1, 1]);
  assert.deepEqual(await counts('id = 79'), [0, 0, 0]);
  assert.deepEqual(await counts('id = 80'), [2, 2, 2]);
  const [stored = 0] = await counts('id BETWEEN 81 AND 92');
  assert.ok(stored > 0 && stored < 12, `${stored} of 12 stored`);
});
