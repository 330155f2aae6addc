import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import {
  contractColumns,
  contractRows,
  expectedRow,
} from '../../../../../test/factories/batch_exports/contract_rows.ts';
import {
  openAroundTests,
  clickhouse,
  encode,
  from,
  none,
  pieces,
} from '../../../../../test/factories/batch_exports/encoded_contract.ts';
import { avroSchema, parseAvro } from '../../../../../test/watchers/read_avro.ts';
import { compressionsOf } from '../../../model/destination/encoding.ts';
import { canonicalValue } from '../../contents/canonical.ts';
import { readAvro } from './read_avro.ts';
import { readCsv } from '../text/read_csv.ts';
import { FileBoundError } from '../parquet/parquet_bounds.ts';
import { content_encoding, selectFor } from '../select.ts';

openAroundTests();

const plain = { format: 'Avro', ...none } as const;
const expected = contractRows.map((row) => expectedRow(row, { has_nul: true }));
const written = (compression: (typeof plain)['compression'] | 'zstd' | 'snappy' | 'deflate') =>
  clickhouse.bytes(selectFor({ format: 'Avro', compression }, contractColumns), from);
const read = (bytes: Buffer) =>
  Array.fromAsync(readAvro(Readable.from(pieces(bytes)), contractColumns));

test('Avro holds every value exactly in every codec, however its bytes are cut', async () => {
  const csv = await clickhouse.bytes(selectFor(content_encoding, contractColumns), from);
  const source = await Array.fromAsync(readCsv(Readable.from([csv])));
  const canonical = (rows: (string | null)[][]) =>
    rows.map((row) => row.map((value, at) => canonicalValue(contractColumns[at]!.type, value)));
  for (const compression of [null, ...compressionsOf('Avro')]) {
    const encoding = { format: 'Avro', compression } as const;
    const bytes = await clickhouse.bytes(selectFor(encoding, contractColumns), from);
    const one = await encode(encoding, [Buffer.from(bytes)]);
    const other = await encode(encoding, pieces(Buffer.from(bytes)));
    assert.equal(one.records, contractRows.length);
    assert.equal(one.sha256, other.sha256);
    assert.ok(one.content.equals(other.content));
    assert.deepEqual(await parseAvro(one.content, contractColumns), expected, String(compression));
    assert.deepEqual(canonical(await read(one.content)), canonical(source), String(compression));
  }
});

test('the same rows give the same Avro file, whatever marker the store draws', async () => {
  const bytes = await written(null);
  const marker = bytes.subarray(-16);
  const other = Buffer.from(bytes);
  for (let at = other.indexOf(marker); at !== -1; at = other.indexOf(marker, at))
    other.fill(7, at, at + 16);
  const [one, two] = [await encode(plain, [Buffer.from(bytes)]), await encode(plain, [other])];
  assert.ok(one.content.equals(two.content));
  assert.ok(!one.content.subarray(-16).equals(marker));
});

test('the schema of an Avro file follows from the columns', async () => {
  const { content } = await encode(plain, [await written(null)]);
  const fields = avroSchema(content).fields.map(({ name, type }) => [name, type]);
  assert.deepEqual(fields, [
    ['uuid', { type: 'string', logicalType: 'uuid' }],
    ['event', 'string'],
    ['properties', 'string'],
    ['note', ['null', 'string']],
    ['timestamp', { type: 'long', logicalType: 'timestamp-micros' }],
    ['amount', 'long'],
    ['ratio', ['null', 'double']],
    ['is_new', 'boolean'],
  ]);
});

test('a file without rows has its header', async () => {
  const bytes = await clickhouse.bytes(selectFor(plain, contractColumns), 'contract WHERE false');
  const { content, records } = await encode(plain, pieces(bytes));
  assert.equal(records, 0);
  assert.deepEqual(await parseAvro(content, contractColumns), []);
  assert.deepEqual(await read(content), []);
});

test('bytes that end within the file are refused, wherever they end', async () => {
  const bytes = await written('zstd');
  const { content } = await encode({ format: 'Avro', compression: 'zstd' }, [Buffer.from(bytes)]);
  for (const end of [0, 3, 40, Math.floor(bytes.length / 2), bytes.length - 17, bytes.length - 1]) {
    const cut = encode({ format: 'Avro', compression: 'zstd' }, [bytes.subarray(0, end)]);
    await assert.rejects(cut, /middle of an Avro file/, String(end));
    await assert.rejects(read(content.subarray(0, end)), /damaged/, String(end));
  }
});

test('a file that asks for more than any export has is not read', async () => {
  const { content } = await encode(plain, [await written(null)]);
  const header = content.indexOf('avro.schema');
  const changed = Buffer.from(content);
  changed.write('avro.schemb', header);
  await assert.rejects(read(changed), /JSON|schema/);
  const end = (await headOf(content)).end;
  const block = Buffer.concat([content.subarray(0, end), long(1), long(2 ** 40)]);
  await assert.rejects(read(block), FileBoundError);
  const rows = Buffer.concat([content.subarray(0, end), long(2 ** 40), long(1), Buffer.alloc(17)]);
  await assert.rejects(read(rows), /damaged/);
});

async function headOf(content: Buffer) {
  const { readHeader } = await import('./avro_header.ts');
  return readHeader(content)!;
}

function long(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value * 2; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 128);
  }
}
