import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { parquetMetadata } from 'hyparquet';
import {
  contractColumns,
  contractRows,
  expectedRow,
} from '../../../../test/factories/batch_exports/contract_rows.ts';
import {
  clickhouse,
  from,
  openAroundTests,
} from '../../../../test/factories/batch_exports/encoded_contract.ts';
import { pageOf, smallParquet } from '../../../../test/factories/batch_exports/small_parquet.ts';
import { parseParquet } from '../../../../test/watchers/read_formats.ts';
import type { Column } from '../../model/models/column.ts';
import { selectFor } from '../formats/select.ts';
import { fieldIds, newSchema } from './schema.ts';
import { stampParquet } from './stamp_parquet.ts';

openAroundTests();

const ids = fieldIds(newSchema(contractColumns));
const encoding = { format: 'Parquet', compression: 'zstd' } as const;

async function stamped(bytes: Buffer, chunk_bytes: number, given: ReadonlyMap<string, number>) {
  const { stage, finish } = stampParquet(given);
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunk_bytes) }, (_, index) =>
    bytes.subarray(index * chunk_bytes, (index + 1) * chunk_bytes),
  );
  const file = await buffer(Readable.from(chunks).pipe(stage));
  return { file, ...finish() };
}

test('a stamped file has its ids, all its values, and says its size and hash', async () => {
  const bytes = await clickhouse.bytes(selectFor(encoding, contractColumns), from);
  const { file, sha256, bytes: said, statistics } = await stamped(bytes, 1_000, ids);
  assert.equal(said, file.length);
  assert.equal(sha256, createHash('sha256').update(file).digest('hex'));
  const { schema, row_groups } = parquetMetadata(new Uint8Array(file).buffer);
  assert.deepEqual(schema.map(({ name, field_id }) => [name, field_id]).slice(1), [...ids]);
  for (const { meta_data } of row_groups.flatMap(({ columns }) => columns))
    assert.equal(meta_data!.bloom_filter_offset, undefined);
  assert.deepEqual(
    await parseParquet(file, contractColumns),
    contractRows.map((row) => expectedRow(row, { has_nul: true })),
  );
  const rows = contractRows.length;
  assert.deepEqual(
    statistics.value_counts,
    [...ids.values()].map((id) => [id, rows]),
  );
  const nulls = (name: 'note' | 'ratio') => contractRows.filter((row) => row[name] === null).length;
  assert.deepEqual(statistics.null_counts, [
    [1, 0],
    [2, 0],
    [3, 0],
    [4, nulls('note')],
    [5, 0],
    [6, 0],
    [7, nulls('ratio')],
    [8, 0],
  ]);
  assert.deepEqual(
    statistics.column_sizes.map(([id]) => id),
    [...ids.values()],
  );
  // Bounds of instants and integers alone: no text of a row is in a manifest.
  const micros = (instant: string) =>
    BigInt(Date.parse(`${instant.slice(0, 19)}Z`)) * 1_000n + BigInt(instant.slice(20, 26));
  const instants = contractRows.map(({ timestamp }) => timestamp).toSorted();
  const amounts = contractRows.map(({ amount }) => BigInt(amount));
  const least = (values: bigint[]) => values.reduce((one, other) => (one < other ? one : other));
  const greatest = (values: bigint[]) => values.reduce((one, other) => (one > other ? one : other));
  const long = (value: string) => Buffer.from(value, 'base64').readBigInt64LE();
  assert.deepEqual(
    statistics.lower_bounds.map(([id, value]) => [id, long(value)]),
    [
      [5, micros(instants[0]!)],
      [6, least(amounts)],
    ],
  );
  assert.deepEqual(
    statistics.upper_bounds.map(([id, value]) => [id, long(value)]),
    [
      [5, micros(instants.at(-1)!)],
      [6, greatest(amounts)],
    ],
  );
});

test('row groups are added up, and each begins where it says', async () => {
  const columns = [{ name: 'n', type: 'integer', nullable: true, expression: 'n' }] as const;
  const query = '(SELECT if(number % 3 = 0, NULL, number) AS n FROM numbers(120000))';
  const bytes = await clickhouse.bytes(selectFor(encoding, [...columns]), query);
  const { statistics, file } = await stamped(bytes, 65_536, fieldIds(newSchema([...columns])));
  const { row_groups } = parquetMetadata(new Uint8Array(file).buffer);
  assert.equal(row_groups.length, 3);
  assert.equal(statistics.split_offsets.length, 3);
  assert.equal(statistics.split_offsets[0], 4);
  assert.deepEqual(statistics.value_counts, [[1, 120_000]]);
  assert.deepEqual(statistics.null_counts, [[1, 40_000]]);
  const [low, high] = [statistics.lower_bounds, statistics.upper_bounds].map((bounds) =>
    Buffer.from(bounds[0]![1], 'base64').readBigInt64LE(),
  );
  assert.deepEqual([low, high], [1n, 119_999n]);
});

test('the longest footer fits into the end that is held, which is short', async () => {
  const columns = ['one', 'two'].map((name): Column => ({
    name,
    type: 'text',
    nullable: true,
    // The longest value that has a place in a footer, other bytes in each row.
    expression: `concat(hex(sipHash128(n)), arrayStringConcat(arrayMap(x ->
      hex(sipHash128(n, x, '${name}')), range(127))))`,
  }));
  const select = selectFor(encoding, columns);
  // A hundred rows stand for a group of 50,000.
  const [groups, rows] = [20, 2_000];
  const small = { max_block_size: 100, output_format_parquet_row_group_size: 100 };
  const bytes = await clickhouse.bytes(
    { ...select, settings: { ...select.settings, ...small } },
    `(SELECT number AS n FROM numbers(${rows}))`,
  );
  const footer_bytes = bytes.readUInt32LE(bytes.length - 8);
  assert.ok(footer_bytes > 4_096 * 2 * columns.length * groups, `${footer_bytes}`);
  const { stage, finish } = stampParquet(fieldIds(newSchema(columns)), groups * 50_000);
  let passed = 0;
  stage.on('data', (chunk: Buffer) => (passed += chunk.length));
  for (let at = 0; at < bytes.length; at += 65_536) stage.write(bytes.subarray(at, at + 65_536));
  const held = bytes.length - passed;
  await new Promise((resolve) => void stage.end(resolve));
  assert.equal(finish().records, rows);
  assert.ok(held < bytes.length / 2, `${held} of ${bytes.length}`);
  assert.ok(held > footer_bytes, `${held}`);
});

test('a file that is cut off, is no Parquet or has an unknown column fails', async () => {
  const file = smallParquet(pageOf(1), 1);
  const known = new Map([['text', 1]]);
  assert.equal((await stamped(file, 7, known)).statistics.value_counts[0]![1], 1);
  await assert.rejects(stamped(file.subarray(0, -3), 7, known), /before the end of the Parquet/);
  await assert.rejects(stamped(Buffer.from('PAR1'), 7, known), /before the end of the Parquet/);
  await assert.rejects(stamped(file, 7, new Map([['other', 1]])), /no column "text"/);
  const { stage, finish } = stampParquet(known);
  stage.write(file);
  assert.throws(finish, /not read to its end/);
});
