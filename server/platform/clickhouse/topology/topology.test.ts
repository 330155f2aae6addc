import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { openTestStores } from '../../../../test/harness_stores.ts';
import type { TestStores } from '../../../../test/harness_stores.ts';
import { openClickHouse } from '../client.ts';
import type { ClickHouse } from '../client.ts';
import { statementsOf } from '../migrate.ts';
import { findMode } from './detect.ts';
import { deduplication_windows, judgeMode, one_node, stored_tables } from './mode.ts';
import type { Mode, StoreFacts } from './mode.ts';
import { batchSettings, requestSettings } from './request_settings.ts';
import { isCancelSafe, versionWarning } from './versions.ts';
import { everywhere, statementFor } from './statements.ts';

const replicated: Mode = {
  kind: 'replicated_database',
  cluster: 'analytics',
  database: 'analytics',
};
const on_cluster: Mode = { kind: 'on_cluster', cluster: 'main', database: 'analytics' };
const modes: Mode[] = [one_node, replicated, on_cluster, { kind: 'cloud' }];
const folder = new URL('../../../../migrations/clickhouse/', import.meta.url);

const checkout = new URL('../../../../', import.meta.url);

/** Those that the server sends, by its source, with something in the place of what is filled in. */
function changingStatements(): string[] {
  const verbs = 'ALTER TABLE|SYSTEM|KILL|INSERT INTO|RENAME TABLE';
  // Statements for a session of PostgreSQL are excluded.
  const of_postgres = String.raw`sql|session\.rows(?:<\w+>)?\(`;
  const text = String.raw`\`\s*((?:${verbs}) [^\`]*)\`|'((?:${verbs}) [^'\n]*)'(?! \+)`;
  const written = new RegExp(`(?<!${of_postgres})(?:${text})`, 'g');
  return globSync('server/{api,cli,engine,platform}/**/*.ts', { cwd: checkout })
    .filter(
      (path) => !/\.test\.ts$|\/(?:destinations|sql_tables|cases|embedded|postgres)\//.test(path),
    )
    .flatMap((path) => [...readFileSync(new URL(path, checkout), 'utf8').matchAll(written)])
    .map(([, template, text]) =>
      (template ?? text ?? '')
        .replaceAll(/PARTITION \$\{\w+\}/g, 'PARTITION 202601')
        .replaceAll(/\$\{\w+\.query\}/g, 'SELECT 1')
        .replaceAll(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, 'x'),
    );
}

const plain: StoreFacts = {
  version: '26.8.3.98',
  database: 'analytics',
  database_engine: 'Atomic',
  is_cloud: false,
  is_left: false,
  is_target: false,
  clusters: [
    { cluster: 'main', shards: 1, replicas: 3 },
    { cluster: 'sharded', shards: 2, replicas: 4 },
  ],
  tables: [],
  table_settings: { ...deduplication_windows },
};
const nobody = { cluster: undefined, addresses: 1 };
const table = (engine: string, engine_full = engine) => ({ name: 'events', engine, engine_full });

describe('topology of a store', () => {
  for (const [name, facts, wanted, expected] of [
    ['one node', {}, nobody, one_node],
    ['one node with its table', { tables: [table('MergeTree')] }, nobody, one_node],
    [
      'a Replicated database',
      {
        database_engine: 'Replicated',
        clusters: [{ cluster: 'analytics', shards: 1, replicas: 3 }],
      },
      { cluster: undefined, addresses: 3 },
      replicated,
    ],
    ['a named cluster', {}, { cluster: 'main', addresses: 3 }, on_cluster],
    ['the cloud, by its setting', { is_cloud: true }, nobody, { kind: 'cloud' }],
    ['the cloud, by its database', { database_engine: 'Shared' }, nobody, { kind: 'cloud' }],
    [
      'several addresses of no cluster',
      {},
      { cluster: undefined, addresses: 2 },
      /names several addresses/,
    ],
    [
      'replicated tables without a name',
      { tables: [table('ReplicatedMergeTree')] },
      nobody,
      /no cluster is named/,
    ],
    [
      'an unknown cluster',
      {},
      { cluster: 'mian', addresses: 1 },
      /knows no cluster mian.*main, sharded/,
    ],
    ['a cluster with shards', {}, { cluster: 'sharded', addresses: 1 }, /2 shards/],
    [
      'rows on one replica alone',
      { tables: [table('MergeTree')] },
      { cluster: 'main', addresses: 3 },
      /not replicated.*migrate-store/,
    ],
    [
      'a small window',
      {
        tables: [
          table(
            'ReplicatedMergeTree',
            'ReplicatedMergeTree SETTINGS replicated_deduplication_window = 100',
          ),
        ],
      },
      { cluster: 'main', addresses: 3 },
      /replicated_deduplication_window = 100.*10000/,
    ],
    [
      'a small window of the server',
      {
        tables: [table('ReplicatedMergeTree')],
        table_settings: { replicated_deduplication_window_seconds: 60 },
      },
      { cluster: 'main', addresses: 3 },
      /_seconds = 60/,
    ],
    [
      'a window of the table',
      {
        tables: [
          table('ReplicatedMergeTree', 'x SETTINGS replicated_deduplication_window = 10000'),
        ],
        table_settings: { replicated_deduplication_window: 100 },
      },
      { cluster: 'main', addresses: 3 },
      on_cluster,
    ],
  ] as [string, Partial<StoreFacts>, Parameters<typeof judgeMode>[1], Mode | RegExp][])
    test(name, () => {
      const judged = judgeMode({ ...plain, ...facts }, wanted);
      if (expected instanceof RegExp) assert.match(judged.problem ?? '', expected);
      else assert.deepEqual(judged, { mode: expected });
    });
});

test('every table that a migration creates is looked for on each replica', () => {
  const texts = globSync('*.sql', { cwd: folder }).map((name) =>
    readFileSync(new URL(name, folder), 'utf8'),
  );
  const created = texts.flatMap((text) => [
    ...text.matchAll(/^CREATE TABLE IF NOT EXISTS (\w+)/gm),
  ]);
  const names = created.map(([, name]) => name!);
  assert.deepEqual([...names, 'migrations'].toSorted(), stored_tables.toSorted());
});

test('one node is asked as ever', () => {
  assert.deepEqual(requestSettings(one_node), {});
  assert.deepEqual(batchSettings(one_node, { token: 'token', milliseconds: 2_500 }), {
    async_insert: 0,
    max_execution_time: 2.5,
    input_format_parallel_parsing: 0,
    max_insert_block_size: '1048576',
    min_insert_block_size_rows: '1048576',
    min_insert_block_size_bytes: '1073741824',
  });
});

test('versions that may lose an insert which is cut off', () => {
  for (const version of ['26.3.33.61', '26.3.34.1', '26.8.3.98', '26.9.1.1', '27.1.1.1'])
    assert.equal(isCancelSafe(version), true, version);
  for (const version of ['26.3.33.60', '26.5.9.999', '26.7.7.86', '25.8.1.1', 'v26'])
    assert.equal(isCancelSafe(version), false, version);
  assert.equal(versionWarning(['26.8.3.98', '26.9.1.1']), undefined);
  assert.match(
    versionWarning(['26.8.3.98', '26.7.7.86', '26.3.1.1', '26.7.7.86'])!,
    /^26\.3\.1\.1 and 26\.7\.7\.86 may .*26\.6\.5\.114, .* proxy repeat/,
  );
});

describe('with the engine that we have', () => {
  let stores: TestStores;
  let clickhouse: ClickHouse;
  before(async () => {
    stores = await openTestStores({ clickhouse: true });
    clickhouse = openClickHouse(stores.clickhouse_url, { application: 'sluice-test' });
  });
  after(async () => {
    await clickhouse.close();
    await stores.close();
  });

  const rows = async (query: string, more: object = {}) =>
    (await clickhouse.query({ query, ...more, format: 'JSONEachRow' })).json();
  const parsed = (query: string) => rows(`EXPLAIN AST ${query}`);
  /** Reads all of them, in one question. */
  const takes = async (texts: string[]) => {
    const found = await rows('SELECT formatQuery(arrayJoin({texts:Array(String)})) AS text', {
      query_params: { texts: texts.map((text) => text.trim().replace(/;$/, '')) },
      use_multipart_params_auto: true,
    });
    assert.equal(found.length, texts.length);
  };

  test('it is one node', async () => {
    assert.deepEqual(await findMode(clickhouse), {});
    assert.deepEqual(clickhouse.mode, one_node);
  });

  test('it takes every statement of every mode', async () => {
    const files = (await readdir(folder)).filter((name) => name.endsWith('.sql'));
    const texts = await Promise.all(files.map((name) => readFile(new URL(name, folder), 'utf8')));
    const statements = texts.flatMap(statementsOf);
    assert.ok(statements.length >= 6);
    const printed: string[] = [];
    for (const mode of modes)
      for (const statement of statements) {
        const text = statementFor(mode, statement);
        const is_table = statement.startsWith('CREATE TABLE');
        const is_ours = mode.kind === 'one_node' || mode.kind === 'cloud';
        if (is_ours) assert.equal(text, statement);
        assert.equal(/ENGINE = Replicated/.test(text), is_table && !is_ours, text);
        assert.equal(/replicated_deduplication_window = 10000/.test(text), is_table && !is_ours);
        assert.equal(
          /^CREATE (TABLE|VIEW) IF NOT EXISTS \w+ ON CLUSTER 'main'/.test(text),
          statement.startsWith('CREATE') && mode.kind === 'on_cluster',
          text,
        );
        printed.push(text);
      }
    await takes(printed);
    await assert.rejects(takes(["CREATE TABLE t ON CLUSTERS 'main' (a Int8) ENGINE = MergeTree"]));
  });

  test('it takes every statement that changes something', async () => {
    // They are the same in every mode, but for those that create a table.
    const statements = changingStatements();
    for (const known of ['SYSTEM SYNC REPLICA x LIGHT', 'ALTER TABLE x DELETE', 'KILL MUTATION'])
      assert.ok(
        statements.some((text) => text.startsWith(known)),
        known,
      );
    statements.push(readFileSync(new URL('deploy/chart/files/cluster.sql', checkout), 'utf8'));
    await takes(statements);
    await assert.rejects(takes(["ALTER TABLE x DROP PARTITIONS 'x'"]));
  });

  test('it knows the settings of every mode', async () => {
    for (const mode of modes) {
      const batch = batchSettings(mode, { token: 'token', milliseconds: 1_000 });
      assert.equal('insert_deduplication_token' in batch, mode.kind !== 'one_node');
      assert.equal('max_execution_time' in batch, mode.kind === 'one_node');
      await rows('SELECT 1', { clickhouse_settings: { ...requestSettings(mode), ...batch } });
    }
    await assert.rejects(rows('SELECT 1', { clickhouse_settings: { insert_quorums: 'auto' } }));
  });

  test('it takes what replicas are asked', async () => {
    for (const mode of [replicated, on_cluster]) {
      await parsed(`SELECT hostName(), count() FROM ${everywhere(mode, 'events')} GROUP BY 1`);
      await parsed(`SELECT count() FROM ${everywhere(mode, 'system.columns')}`);
    }
    await parsed('SYSTEM SYNC REPLICA events LIGHTWEIGHT');
    await assert.rejects(parsed('SYSTEM SYNC REPLICA events LIGHTLY'));
  });
});
