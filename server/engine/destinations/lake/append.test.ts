import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manifestListOf, manifestOf, newSnapshotId, snapshotOf } from './append.ts';
import { readAvro } from './avro_file.ts';
import type { AvroSchema } from './avro_file.ts';
import { readManifest } from './manifest.ts';
import type { DataFile } from './manifest.ts';
import { readManifestList } from './manifest_list.ts';
import { newSchema } from './schema.ts';
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
const append = (...files: DataFile[]) => ({
  snapshot_id,
  files,
  summary: { 'sluice.delivery-id': 'one' },
});

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
  const bytes = manifestOf(table().metadata, append(file(1), file(2)));
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
  assert.deepEqual(readManifest(bytes), [
    { path: 's3://lake/events/data/1.parquet', records: 10, bytes: 100 },
    { path: 's3://lake/events/data/2.parquet', records: 20, bytes: 200 },
  ]);
  assert.deepEqual(
    manifestOf(table().metadata, append(file(1), file(2))),
    bytes,
    'a repeat is the same',
  );
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
    manifestOf(
      partitioned.metadata,
      append(file(1, [17_486, 3, 'x']), file(2, [null, null, null])),
    ),
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

test('a list carries the earlier manifests on, and counts what was added', () => {
  const manifest = { path: 's3://lake/m1.avro', bytes: 4_000 };
  const first = manifestListOf(table(), append(file(1)), manifest, []);
  const { meta, schema: written } = readAvro(first);
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
  const parent = snapshotOf(table(), append(file(1)), 's3://lake/l1.avro', 5_000);
  const then = table({ 'last-sequence-number': 1 }, parent);
  const listed = readManifestList(first);
  const second = manifestListOf(
    then,
    { ...append(file(2), file(3)), snapshot_id: 7n },
    { path: 's3://lake/m2.avro', bytes: 5_000 },
    listed,
  );
  assert.equal(readAvro(second).meta['parent-snapshot-id'], String(snapshot_id));
  assert.deepEqual(
    readManifestList(second).map((one) => [
      one.manifest_path,
      one.manifest_length,
      one.content,
      one.sequence_number,
      one.min_sequence_number,
      one.added_snapshot_id,
      one.added_files_count,
      one.added_rows_count,
      one.existing_files_count,
      one.deleted_files_count,
    ]),
    [
      ['s3://lake/m2.avro', 5_000n, 0, 2n, 2n, 7n, 2, 50n, 0, 0],
      ['s3://lake/m1.avro', 4_000n, 0, 1n, 1n, snapshot_id, 1, 10n, 0, 0],
    ],
  );
});

test('a snapshot carries totals on and is never older than its parent', () => {
  const parent = snapshotOf(table(), append(file(1)), 's3://lake/l1.avro', 5_000);
  assert.equal('parent-snapshot-id' in parent, false);
  const then = table({ 'last-sequence-number': 1 }, parent);
  const { summary, ...snapshot } = snapshotOf(
    then,
    { ...append(file(2), file(3)), snapshot_id: 7n },
    's3://lake/l2.avro',
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
  assert.equal('total-records' in snapshotOf(then, append(file(2)), 'x', 1).summary, false);
});

test('ids of snapshots are positive, of 63 bits', () => {
  for (let count = 0; count < 1_000; count += 1) {
    const id = newSnapshotId();
    assert.ok(id > 0n && id < 2n ** 63n);
  }
});
