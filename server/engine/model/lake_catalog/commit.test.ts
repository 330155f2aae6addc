// Length: one table after the other shows one promise of a commit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { v4 as uuidv4 } from 'uuid';
import sql from 'sql-template-tag';
import { shareHarness } from '../../../../test/harness.ts';
import { parseExactJson } from '../../../platform/json/exact_json.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { readMetadata } from './read_metadata.ts';
import { commitTable, createByCommit, createTable, registerTable } from './commit.ts';
import type { Commit, Surroundings } from './commit.ts';
import { createNamespace, dropNamespace, findNamespace, holdNamespace } from './namespaces.ts';
import { textOfFile } from './packed_text.ts';
import { LakeRefused } from './refusal.ts';
import { findTable, holdTable, listTables, readWhole } from './tables.ts';
import type { LakeTable } from './tables.ts';

const files = new Map<string, string | Buffer>();
const surroundings: Surroundings = {
  writeFile: async (uri, content) => void files.set(uri, content),
  now_ms: 1_790_000_000_000,
};
const schema = {
  type: 'struct',
  fields: [{ id: 1, name: 'uuid', type: 'string', required: false }],
};
/** Beyond 2^53, as writers choose them. */
const ids = [9_007_199_254_740_993n, 9_007_199_254_740_995n, 9_007_199_254_740_997n] as const;

let team_id: number;
const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    const { project } = await harness.newOrganization();
    team_id = project.id;
    await inTransaction((tx) =>
      createNamespace(tx, {
        team_id,
        levels: ['lake'],
        properties: {},
        location: 'memory://lake',
        batch_export_id: null,
      }),
    );
  },
});

const inTransaction = <Result>(work: (tx: Transaction) => Promise<Result>) =>
  harness.deps.db.transaction(work);

async function newTable(name: string): Promise<LakeTable> {
  return inTransaction(async (tx) =>
    createTable(
      tx,
      {
        team_id,
        namespace: await holdNamespace(tx, team_id, ['lake']),
        name,
        batch_export_id: null,
      },
      { table_uuid: uuidv4(), location: `memory://lake/${name}`, schema },
      surroundings,
    ),
  );
}

const commit = (name: string, asked: Commit) =>
  inTransaction(async (tx) =>
    commitTable(
      tx,
      (await holdTable(tx, team_id, { levels: ['lake'], name }))!,
      asked,
      surroundings,
    ),
  );

const append = (id: bigint, parent: bigint | null, sequence: number): Commit => ({
  requirements: [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': parent }],
  updates: [
    {
      action: 'add-snapshot',
      snapshot: {
        'snapshot-id': id,
        ...(parent === null ? {} : { 'parent-snapshot-id': parent }),
        'sequence-number': sequence,
        'timestamp-ms': surroundings.now_ms + sequence,
        'manifest-list': `memory://lake/snap-${id}.avro`,
        summary: { operation: 'append' },
      },
    },
    { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id },
  ],
});

type Whole = {
  snapshots: { 'snapshot-id': bigint }[];
  'snapshot-log': { 'snapshot-id': bigint; 'timestamp-ms': number }[];
  'metadata-log': { 'metadata-file': string }[];
  'current-snapshot-id'?: bigint;
};
/** The text of a file, unpacked if its name says that it is packed. */
const textOf = (uri: string) => {
  const content = files.get(uri)!;
  return typeof content === 'string' ? content : textOfFile(uri, content);
};
const fileOf = (table: LakeTable) =>
  parseExactJson(textOf(table.metadata_location)) as Whole & Record<string, unknown>;

test('each commit writes a file before the pointer moves, and names the one before', async () => {
  const created = await newTable('appended');
  assert.match(created.metadata_location, /^memory:\/\/lake\/appended\/metadata\/00000-[\w-]+\./);
  assert.deepEqual(fileOf(created).snapshots, []);
  const first = await commit('appended', append(ids[0], null, 1));
  const second = await commit('appended', append(ids[1], ids[0], 2));
  const whole = fileOf(second);
  assert.deepEqual(
    whole.snapshots.map((one) => one['snapshot-id']),
    [ids[0], ids[1]],
  );
  assert.deepEqual(
    whole['snapshot-log'].map((one) => one['snapshot-id']),
    [ids[0], ids[1]],
  );
  assert.equal(whole['current-snapshot-id'], ids[1]);
  assert.deepEqual(
    whole['metadata-log'].map((one) => one['metadata-file']),
    [created.metadata_location, first.metadata_location],
  );
  const found = (await findTable(harness.deps.db, team_id, {
    levels: ['lake'],
    name: 'appended',
  }))!;
  assert.equal(found.metadata_location, second.metadata_location);
  assert.deepEqual(await readWhole(harness.deps.db, found.id), {
    metadata_location: second.metadata_location,
    text: textOf(second.metadata_location),
  });
  const { text } = (await readWhole(harness.deps.db, found.id, 'refs'))!;
  const named = parseExactJson(text) as Whole;
  assert.deepEqual(
    named.snapshots.map((one) => one['snapshot-id']),
    [ids[1]],
  );
});

test('of two commits on one state one is applied, and the other is told so', async () => {
  await newTable('raced');
  const outcomes = await Promise.allSettled([
    commit('raced', append(ids[0], null, 1)),
    commit('raced', append(ids[1], null, 1)),
  ]);
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  const refused = outcomes.find((one) => one.status === 'rejected')!.reason as unknown;
  assert.ok(refused instanceof LakeRefused && refused.type === 'CommitFailedException');
  const table = (await findTable(harness.deps.db, team_id, { levels: ['lake'], name: 'raced' }))!;
  assert.equal(fileOf(table).snapshots.length, 1);
});

test('a transaction that fails after the commit leaves the table as it was', async () => {
  const before_it = await newTable('rolled_back');
  await assert.rejects(
    inTransaction(async (tx) => {
      const table = await holdTable(tx, team_id, { levels: ['lake'], name: 'rolled_back' });
      await commitTable(tx, table!, append(ids[0], null, 1), surroundings);
      throw new Error('The ledger refuses.');
    }),
  );
  const after_it = await findTable(harness.deps.db, team_id, {
    levels: ['lake'],
    name: 'rolled_back',
  });
  assert.deepEqual(after_it, before_it);
  assert.equal(
    await harness.deps.db.row(
      sql`SELECT 1 FROM lake_snapshots WHERE table_id = ${before_it.id}::uuid`,
    ),
    undefined,
  );
});

test('a file that cannot be written moves no pointer', async () => {
  const before_it = await newTable('unwritten');
  await assert.rejects(
    inTransaction(async (tx) => {
      const table = await holdTable(tx, team_id, { levels: ['lake'], name: 'unwritten' });
      const writeFile = () => Promise.reject(new Error('No room.'));
      return commitTable(tx, table!, append(ids[0], null, 1), { ...surroundings, writeFile });
    }),
    /No room/,
  );
  assert.deepEqual(
    await findTable(harness.deps.db, team_id, { levels: ['lake'], name: 'unwritten' }),
    before_it,
  );
});

test('a commit that changes nothing writes nothing', async () => {
  const table = await newTable('unchanged');
  const count = files.size;
  const after_it = await commit('unchanged', {
    requirements: [],
    updates: [{ action: 'remove-properties', removals: ['none'] }],
  });
  assert.equal(after_it.metadata_location, table.metadata_location);
  assert.equal(files.size, count);
});

test('expired snapshots leave the file and the log before them', async () => {
  await newTable('expired');
  await commit('expired', append(ids[0], null, 1));
  await commit('expired', append(ids[1], ids[0], 2));
  await commit('expired', append(ids[2], ids[1], 3));
  const table = await commit('expired', {
    requirements: [],
    updates: [{ action: 'remove-snapshots', 'snapshot-ids': [ids[1]] }],
  });
  const whole = fileOf(table);
  assert.deepEqual(
    whole.snapshots.map((one) => one['snapshot-id']),
    [ids[0], ids[2]],
  );
  assert.deepEqual(
    whole['snapshot-log'].map((one) => one['snapshot-id']),
    [ids[2]],
  );
});

test('a file has what is stored, whoever committed last', async () => {
  const created = await newTable('followed');
  const holds = async (table: LakeTable) =>
    assert.equal(
      files.get(table.metadata_location),
      (await readWhole(harness.deps.db, created.id))!.text,
    );
  await holds(created);
  await holds(await commit('followed', append(ids[0], null, 1)));
  // A commit that is rolled back leaves nothing for the next one.
  await assert.rejects(
    inTransaction(async (tx) => {
      const table = await holdTable(tx, team_id, { levels: ['lake'], name: 'followed' });
      await commitTable(tx, table!, append(ids[2], ids[0], 2), surroundings);
      throw new Error('The ledger refuses.');
    }),
  );
  await holds(await commit('followed', append(ids[1], ids[0], 2)));
  const removal = { action: 'remove-snapshots', 'snapshot-ids': [ids[0]] };
  await holds(await commit('followed', { requirements: [], updates: [removal] }));
  await holds(await commit('followed', append(ids[2], ids[1], 3)));
});

test('the list of metadata files is bounded', async () => {
  await newTable('bounded');
  let table: LakeTable | undefined;
  await commit('bounded', {
    requirements: [],
    updates: [
      { action: 'set-properties', updates: { 'write.metadata.previous-versions-max': '3' } },
    ],
  });
  for (let index = 0; index < 5; index += 1)
    table = await commit('bounded', {
      requirements: [],
      updates: [{ action: 'set-properties', updates: { index: String(index) } }],
    });
  assert.equal(fileOf(table!)['metadata-log'].length, 3);
  assert.equal(table!.version, 6);
});

test('a table that its writer prepared is made by one commit, snapshot included', async () => {
  const uuid = uuidv4();
  const table = await inTransaction(async (tx) =>
    createByCommit(
      tx,
      {
        team_id,
        namespace: await holdNamespace(tx, team_id, ['lake']),
        name: 'staged',
        batch_export_id: null,
      },
      'memory://lake/staged',
      {
        requirements: [{ type: 'assert-create' }],
        updates: [
          { action: 'assign-uuid', uuid },
          { action: 'upgrade-format-version', 'format-version': 2 },
          { action: 'add-schema', schema },
          { action: 'set-current-schema', 'schema-id': -1 },
          { action: 'add-spec', spec: { fields: [] } },
          { action: 'set-default-spec', 'spec-id': -1 },
          { action: 'add-sort-order', 'sort-order': { fields: [] } },
          { action: 'set-default-sort-order', 'sort-order-id': -1 },
          ...append(ids[0], null, 1).updates,
        ],
      },
      surroundings,
    ),
  );
  const whole = fileOf(table);
  assert.equal(whole['table-uuid'], uuid);
  assert.equal(whole['format-version'], 2);
  assert.equal(whole['current-snapshot-id'], ids[0]);
  // Registered under another name it is the same table, with the same file.
  const registered = await inTransaction(async (tx) =>
    registerTable(
      tx,
      {
        team_id,
        namespace: await holdNamespace(tx, team_id, ['lake']),
        name: 'registered',
        batch_export_id: null,
      },
      table.metadata_location,
      readMetadata(textOf(table.metadata_location)),
      surroundings.now_ms,
    ),
  );
  assert.deepEqual(parseExactJson((await readWhole(harness.deps.db, registered.id))!.text), whole);
});

test('names are taken once, and a namespace with something in it stays', async () => {
  await newTable('taken');
  await assert.rejects(newTable('taken'), (error: unknown) => {
    assert.ok(error instanceof LakeRefused);
    return error.type === 'AlreadyExistsException';
  });
  await assert.rejects(
    inTransaction(async (tx) =>
      dropNamespace(tx, team_id, (await findNamespace(tx, team_id, ['lake']))!),
    ),
    (error: unknown) => error instanceof LakeRefused && error.type === 'NamespaceNotEmptyException',
  );
  const { id } = (await findNamespace(harness.deps.db, team_id, ['lake']))!;
  const names = await listTables(harness.deps.db, id, { after: 'a', size: 2 });
  assert.deepEqual(
    names.map(({ name }) => name),
    ['appended', 'bounded'],
  );
});

test('another project has none of it', async () => {
  const { project } = await harness.newOrganization();
  assert.equal(await findNamespace(harness.deps.db, project.id, ['lake']), undefined);
  assert.equal(
    await findTable(harness.deps.db, project.id, { levels: ['lake'], name: 'taken' }),
    undefined,
  );
});

test('a large metadata file is packed, and each commit packs what is new', async () => {
  const created = await newTable('large');
  await harness.deps.db.run(sql`
    INSERT INTO lake_snapshots (table_id, snapshot_id, timestamp_ms, snapshot)
    SELECT ${created.id}::uuid, n, n, format('{"snapshot-id":%s,"summary":{"note":"ü %s"}}', n,
      repeat(md5(n::text), 20)) FROM generate_series(1, 2000) n`);
  for (const [index, id] of ids.entries()) {
    const table = await commit(
      'large',
      append(id, index === 0 ? null : ids[index - 1]!, index + 1),
    );
    assert.match(table.metadata_location, /^.*[0-9a-f]\.gz\.metadata\.json$/);
    const whole = (await readWhole(harness.deps.db, created.id))!;
    assert.equal(whole.metadata_location, table.metadata_location);
    assert.equal(textOf(table.metadata_location), whole.text);
    assert.equal(fileOf(table).snapshots.length, 2_001 + index);
  }
});
