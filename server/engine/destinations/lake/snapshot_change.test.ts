// Length: what a snapshot may change is told by one table of changes after the other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeExactJson } from '../../../platform/json/exact_json.ts';
import { readAvro } from './avro_file.ts';
import type { AvroSchema } from './avro_file.ts';
import { openManifest } from './entries.ts';
import type { DataFile } from './manifest.ts';
import { readManifestList } from './manifest_list.ts';
import type { ListedManifest } from './manifest_list.ts';
import { newSchema } from './schema.ts';
import { addedManifests, newSnapshotId, snapshotOf } from './snapshot_change.ts';
import type { SnapshotChange } from './snapshot_change.ts';
import { FilesGoneError, openSnapshot } from './store_snapshot.ts';
import type { MetaFiles } from './store_snapshot.ts';
import type { Snapshot, TableState } from './table_metadata.ts';

const schema = newSchema([
  { name: 'uuid', type: 'uuid' },
  { name: 'timestamp', type: 'timestamp' },
]);

const table = (changes: Partial<TableState['metadata']> = {}, parent?: Snapshot): TableState => ({
  metadata: {
    'format-version': 2,
    'table-uuid': '018f0000-0000-7000-8000-000000000001',
    location: 's3://lake/events',
    'last-sequence-number': 0,
    'last-column-id': 2,
    'current-schema-id': 0,
    schemas: [schema],
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: [] }],
    'last-partition-id': 999,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    'default-sort-order-id': 0,
    properties: {},
    ...changes,
  },
  parent,
});

const bound = Buffer.from('0102030405060708', 'hex').toString('base64');
const file = (number: number, partition: DataFile['partition'] = []): DataFile => ({
  path: `s3://lake/events/data/${number}.parquet`,
  records: 10 * number,
  bytes: 100 * number,
  partition,
  statistics: {
    column_sizes: [[1, 5]],
    value_counts: [[1, 10 * number]],
    null_counts: [[1, 0]],
    lower_bounds: [[2, bound]],
    upper_bounds: [[2, bound]],
    split_offsets: [4],
  },
});

/** An id that a number of JavaScript would round. */
const snapshot_id = 9_223_372_036_854_775_807n;
const append = (...added: DataFile[]): SnapshotChange => ({
  snapshot_id,
  operation: 'append',
  added,
  removed: new Set(),
  summary: { 'sluice.delivery-id': 'one' },
});
const manifestOf = (one: TableState, change: SnapshotChange) =>
  addedManifests(one.metadata, change)[0]!.bytes;

/** Files in memory, and what was written to them. */
function memory() {
  const stored = new Map<string, Buffer>();
  const files: MetaFiles = {
    read: async (uri) => stored.get(uri)!,
    put: async (uri, content) => void stored.set(uri, content),
  };
  return { files, stored };
}

const states = ['existing', 'added', 'deleted'];

/** A table in memory that takes one change after the other. */
function openTable(first: TableState = table()) {
  const { files, stored } = memory();
  let state = first;
  const listed = () => readManifestList(stored.get(state.parent!['manifest-list'])!);
  const entriesOf = (one: ListedManifest) => openManifest(stored.get(one.manifest_path)!, one);
  return {
    files,
    stored,
    state: () => state,
    listed,
    entriesOf,
    take: (parent: Snapshot) => {
      const metadata = { ...state.metadata, 'last-sequence-number': parent['sequence-number'] };
      state = { metadata, parent };
    },
    apply: async (change: SnapshotChange) => {
      const parent = await openSnapshot(files, change).store(state, 5_000);
      state = {
        metadata: { ...state.metadata, 'last-sequence-number': parent['sequence-number'] },
        parent,
      };
      return parent;
    },
    /** Number, snapshot and state of the files, by manifest. */
    told: () =>
      listed().map((one) =>
        entriesOf(one).entries.map(
          ({ path, status, snapshot_id: id, sequence_number, file_sequence_number }) =>
            `${path.replace(/.*\/(.*)\.parquet/, '$1')} ${states[status]} ` +
            `by ${id} at ${sequence_number}/${file_sequence_number}`,
        ),
      ),
  };
}

/** The ids of all fields and items of a schema, with the names of records. */
function told(one: unknown): string[] {
  if (Array.isArray(one)) return one.flatMap(told);
  if (typeof one !== 'object' || one === null) return [];
  const fields = one as AvroSchema;
  const own = [
    ...('field-id' in fields ? [`${String(fields['field-id'])} ${String(fields['name'])}`] : []),
    ...('element-id' in fields ? [`[${String(fields['element-id'])}]`] : []),
    ...(fields['type'] === 'record' ? [`{${String(fields['name'])}}`] : []),
  ];
  return [...own, ...[fields['fields'], fields['items'], fields['type']].flatMap(told)];
}

test('a manifest has the names, ids and keys that strict readers look for', () => {
  const bytes = manifestOf(table(), append(file(1), file(2)));
  const { schema: written, meta, records } = readAvro(bytes);
  const names = told(written);
  for (const name of [
    '0 status',
    '1 snapshot_id',
    '2 data_file',
    '3 sequence_number',
    '4 file_sequence_number',
    '134 content',
    '100 file_path',
    '101 file_format',
    '102 partition',
    '103 record_count',
    '104 file_size_in_bytes',
    '108 column_sizes',
    '109 value_counts',
    '110 null_value_counts',
    '125 lower_bounds',
    '128 upper_bounds',
    '132 split_offsets',
    '[133]',
    '140 sort_order_id',
    '126 key',
    '127 value',
    '{manifest_entry}',
    '{r2}',
    '{r102}',
    '{k117_v118}',
    '{k119_v120}',
    '{k121_v122}',
    '{k126_v127}',
    '{k129_v130}',
  ])
    assert.ok(names.includes(name), name);
  const { 'avro.schema': _, 'avro.codec': codec, ...keys } = meta;
  assert.equal(codec, 'deflate');
  assert.deepEqual(keys, {
    schema: JSON.stringify(schema),
    'schema-id': '0',
    'partition-spec': '[]',
    'partition-spec-id': '0',
    'format-version': '2',
    content: 'data',
  });
  assert.equal(records.length, 2);
  const [first] = records as Record<string, unknown>[];
  assert.deepEqual(
    [first!['status'], first!['snapshot_id'], first!['sequence_number']],
    [1, snapshot_id, null],
  );
  const inherited = {
    sequence_number: 7n,
    added_snapshot_id: snapshot_id,
    partition_spec_id: 0,
    first_row_id: null,
  };
  assert.deepEqual(
    openManifest(bytes, inherited).entries.map(({ path, records: rows, bytes: size, ...one }) => [
      path,
      rows,
      size,
      one.sequence_number,
      one.file_sequence_number,
    ]),
    [
      ['s3://lake/events/data/1.parquet', 10, 100, 7n, 7n],
      ['s3://lake/events/data/2.parquet', 20, 200, 7n, 7n],
    ],
  );
  assert.deepEqual(manifestOf(table(), append(file(1), file(2))), bytes, 'a repeat is the same');
});

test('partitions are written in the types of their transforms', () => {
  const fields = [
    { 'source-id': 2, 'field-id': 1000, name: 'timestamp_day', transform: 'day' },
    { 'source-id': 1, 'field-id': 1001, name: 'uuid_bucket', transform: 'bucket[16]' },
    { 'source-id': 1, 'field-id': 1002, name: 'uuid', transform: 'identity' },
  ];
  const partitioned = table({ 'partition-specs': [{ 'spec-id': 0, fields }] });
  const {
    records,
    meta,
    schema: written,
  } = readAvro(
    manifestOf(partitioned, append(file(1, [17_486, 3, 'x']), file(2, [null, null, null]))),
  );
  assert.equal(meta['partition-spec'], JSON.stringify(fields));
  const of = (record: object) =>
    Object.values((record as { data_file: { partition: object } }).data_file.partition);
  assert.deepEqual(records.map(of), [
    [17_486, 3, 'x'],
    [null, null, null],
  ]);
  for (const name of ['1000 timestamp_day', '1001 uuid_bucket', '1002 uuid'])
    assert.ok(told(written).includes(name), name);
});

test('a list carries the earlier manifests on, and counts what was added', async () => {
  const one = openTable();
  const first = await one.apply(append(file(1)));
  const { meta, schema: written } = readAvro(one.stored.get(first['manifest-list'])!);
  assert.deepEqual(
    [
      meta['format-version'],
      meta['snapshot-id'],
      meta['parent-snapshot-id'],
      meta['sequence-number'],
    ],
    ['2', String(snapshot_id), 'null', '1'],
  );
  for (const id of ['500 manifest_path', '507 partitions', '[508]', '{manifest_file}', '{r508}'])
    assert.ok(told(written).includes(id), id);
  const [kept] = one.listed();
  const second = await one.apply({ ...append(file(2), file(3)), snapshot_id: 7n });
  const list = one.stored.get(second['manifest-list'])!;
  assert.equal(readAvro(list).meta['parent-snapshot-id'], String(snapshot_id));
  const [added, earlier] = one.listed();
  assert.deepEqual(earlier, kept);
  assert.deepEqual(
    [added, earlier].map((listed) => [
      listed!.content,
      listed!.sequence_number,
      listed!.min_sequence_number,
      listed!.added_snapshot_id,
      listed!.added_files_count,
      listed!.added_rows_count,
      listed!.existing_files_count,
      listed!.deleted_files_count,
    ]),
    [
      [0, 2n, 2n, 7n, 2, 50n, 0, 0],
      [0, 1n, 1n, snapshot_id, 1, 10n, 0, 0],
    ],
  );
  assert.equal(added!.manifest_length, BigInt(one.stored.get(added!.manifest_path)!.length));
});

const numbered = (id: bigint, change: Partial<SnapshotChange>): SnapshotChange => ({
  ...append(),
  snapshot_id: id,
  ...change,
});
const paths = (...numbers: number[]) => new Set(numbers.map((number) => file(number).path));

test('a file that is replaced leaves its manifest, and the others keep their numbers', async () => {
  const one = openTable();
  await one.apply(numbered(1n, { added: [file(1), file(2)] }));
  await one.apply(numbered(2n, { added: [file(3)] }));
  const untouched = one.listed()[0]!.manifest_path;
  const { summary } = await one.apply(
    numbered(3n, { operation: 'overwrite', added: [file(4)], removed: paths(2) }),
  );
  assert.deepEqual(one.told(), [
    ['4 added by 3 at 3/3'],
    ['3 added by 2 at 2/2'],
    ['1 existing by 1 at 1/1', '2 deleted by 3 at 1/1'],
  ]);
  const [, kept, rewritten] = one.listed();
  assert.equal(kept!.manifest_path, untouched);
  assert.deepEqual(
    [
      rewritten!.sequence_number,
      rewritten!.min_sequence_number,
      rewritten!.added_snapshot_id,
      rewritten!.added_files_count,
      rewritten!.existing_files_count,
      rewritten!.existing_rows_count,
      rewritten!.deleted_files_count,
      rewritten!.deleted_rows_count,
    ],
    [3n, 1n, 3n, 0, 1, 10n, 1, 20n],
  );
  assert.deepEqual(
    Object.fromEntries(Object.entries(summary).filter(([name]) => !name.includes('deletes'))),
    {
      operation: 'overwrite',
      'sluice.delivery-id': 'one',
      'added-data-files': '1',
      'added-records': '40',
      'added-files-size': '400',
      'deleted-data-files': '1',
      'deleted-records': '20',
      'removed-files-size': '200',
      'changed-partition-count': '1',
      'total-data-files': '3',
      'total-records': '80',
      'total-files-size': '800',
      'total-delete-files': '0',
    },
  );
  // The next snapshot no longer tells of file 2, and leaves out a manifest without any file.
  await one.apply(numbered(4n, { operation: 'delete', removed: paths(1) }));
  assert.deepEqual(one.told(), [
    ['4 added by 3 at 3/3'],
    ['3 added by 2 at 2/2'],
    ['1 deleted by 4 at 1/1'],
  ]);
  await one.apply(numbered(5n, { added: [file(5)] }));
  assert.deepEqual(one.told(), [
    ['5 added by 5 at 5/5'],
    ['4 added by 3 at 3/3'],
    ['3 added by 2 at 2/2'],
  ]);
});

test('a rewritten entry is what its writer wrote, but for its state', async () => {
  const one = openTable();
  await one.apply(numbered(1n, { added: [file(1), file(2)] }));
  const [before] = one.entriesOf(one.listed()[0]!).entries;
  const meta = readAvro(one.stored.get(one.listed()[0]!.manifest_path)!).meta;
  await one.apply(numbered(2n, { operation: 'delete', removed: paths(2) }));
  const [after] = one.entriesOf(one.listed()[0]!).entries;
  const file_of = (entry: typeof before) => writeExactJson(entry!.record['data_file']);
  assert.equal(file_of(after), file_of(before));
  assert.deepEqual(readAvro(one.stored.get(one.listed()[0]!.manifest_path)!).meta, meta);
});

test('all files leave at once, and new ones come in the same snapshot', async () => {
  const one = openTable();
  await one.apply(numbered(1n, { added: [file(1), file(2)] }));
  await one.apply(numbered(2n, { added: [file(3)] }));
  const { summary } = await one.apply(
    numbered(3n, { operation: 'overwrite', added: [file(4)], removed: 'all' }),
  );
  assert.deepEqual(one.told(), [
    ['4 added by 3 at 3/3'],
    ['3 deleted by 3 at 2/2'],
    ['1 deleted by 3 at 1/1', '2 deleted by 3 at 1/1'],
  ]);
  assert.deepEqual(
    [summary['total-data-files'], summary['total-records'], summary['deleted-data-files']],
    ['1', '40', '3'],
  );
});

test('a file that another writer has removed cannot be replaced', async () => {
  const one = openTable();
  await one.apply(numbered(1n, { added: [file(1), file(2)] }));
  const ours = openSnapshot(
    one.files,
    numbered(3n, { operation: 'overwrite', added: [file(4)], removed: paths(2) }),
  );
  await ours.prepare(one.state());
  await one.apply(numbered(2n, { operation: 'delete', removed: paths(2) }));
  await assert.rejects(
    ours.store(one.state(), 5_000),
    (error) => error instanceof FilesGoneError && error.paths[0] === file(2).path,
  );
});

test('a change that was prepared follows another commit without reading again', async () => {
  const one = openTable();
  await one.apply(numbered(1n, { added: [file(1), file(2)] }));
  const ours = openSnapshot(
    one.files,
    numbered(3n, { operation: 'overwrite', added: [file(4)], removed: paths(2) }),
  );
  await ours.prepare(one.state());
  const prepared = one.stored.size;
  await one.apply(numbered(2n, { added: [file(3)] }));
  const written = one.stored.size;
  one.take(await ours.store(one.state(), 5_000));
  assert.deepEqual([prepared, one.stored.size - written], [4, 1]);
  assert.deepEqual(one.told(), [
    ['4 added by 3 at 3/3'],
    ['3 added by 2 at 2/2'],
    ['1 existing by 1 at 1/1', '2 deleted by 3 at 1/1'],
  ]);
});

test('files of several specs have a manifest each, with bounds of partitions', async () => {
  const fields = [
    { 'source-id': 2, 'field-id': 1000, name: 'timestamp_day', transform: 'day' },
    { 'source-id': 1, 'field-id': 1001, name: 'uuid', transform: 'identity' },
  ];
  const specs = [
    { 'spec-id': 0, fields: [] },
    { 'spec-id': 1, fields },
  ];
  const one = openTable(table({ 'partition-specs': specs, 'default-spec-id': 1 }));
  await one.apply(
    numbered(1n, {
      added: [
        { ...file(1), spec_id: 0 },
        file(2, [-1, '\u{ffff}']),
        file(3, [2, '\u{10000}']),
        file(4, [null, 'a']),
      ],
    }),
  );
  const [plain, parted] = one.listed();
  assert.deepEqual([plain!.partition_spec_id, plain!.partitions], [0, []]);
  assert.equal(parted!.partition_spec_id, 1);
  const bytes = (value: number) => {
    const four = Buffer.alloc(4);
    four.writeInt32LE(value);
    return four;
  };
  assert.deepEqual(
    parted!.partitions!.map(({ contains_null, lower_bound, upper_bound }) => [
      contains_null,
      lower_bound,
      upper_bound,
    ]),
    [
      [true, bytes(-1), bytes(2)],
      [false, Buffer.from('a'), Buffer.from('\u{10000}')],
    ],
  );
  assert.deepEqual(one.entriesOf(parted!).entries[2]!.partition, [null, 'a']);
});

test('a snapshot carries totals on and is never older than its parent', () => {
  const parent = snapshotOf(table(), append(file(1)), [], { path: 's3://lake/l1.avro' }, 5_000);
  assert.equal('parent-snapshot-id' in parent, false);
  const then = table({ 'last-sequence-number': 1 }, parent);
  const { summary, ...snapshot } = snapshotOf(
    then,
    { ...append(file(2), file(3)), snapshot_id: 7n },
    [],
    { path: 's3://lake/l2.avro' },
    4_000,
  );
  assert.deepEqual(snapshot, {
    'snapshot-id': 7n,
    'parent-snapshot-id': snapshot_id,
    'sequence-number': 2,
    'timestamp-ms': 5_001,
    'manifest-list': 's3://lake/l2.avro',
    'schema-id': 0,
  });
  assert.deepEqual(summary, {
    operation: 'append',
    'sluice.delivery-id': 'one',
    'added-data-files': '2',
    'added-records': '50',
    'added-files-size': '500',
    'changed-partition-count': '1',
    'total-data-files': '3',
    'total-records': '60',
    'total-files-size': '600',
    'total-delete-files': '0',
    'total-position-deletes': '0',
    'total-equality-deletes': '0',
  });
  delete (parent.summary as Record<string, string>)['total-records'];
  assert.equal(
    'total-records' in snapshotOf(then, append(file(2)), [], { path: 'x' }, 1).summary,
    false,
  );
});

test('ids of snapshots are positive, of 63 bits', () => {
  for (let count = 0; count < 1_000; count += 1) {
    const id = newSnapshotId();
    assert.ok(id > 0n && id < 2n ** 63n);
  }
});
