import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { parquetMetadata } from 'hyparquet';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  contractColumns,
  contractRows,
} from '../../../../test/factories/batch_exports/contract_rows.ts';
import { encodeStage } from './encode_stage.ts';
import { fileFormats } from '../../model/destination/encoding.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { selectFor } from './select.ts';
import {
  openAroundTests,
  clickhouse,
  none,
  from,
  encode,
  pieces,
} from '../../../../test/factories/batch_exports/encoded_contract.ts';

openAroundTests();

test('the same rows give the same bytes', async () => {
  const many =
    '(SELECT number AS position, generateUUIDv4() AS u, toString(number) AS event FROM ' +
    'numbers(1)) AS one, numbers(120000) AS n ORDER BY n.number';
  const column = {
    name: 'text',
    type: 'text',
    nullable: false,
    expression: 'toString(n.number)',
  } as const;
  const selection = selectFor({ format: 'Parquet', compression: 'zstd' }, [column]);
  const [first, second] = [
    await clickhouse.bytes(selection, many),
    await clickhouse.bytes(selection, many),
  ];
  assert.ok(first.equals(second));
  const groups = parquetMetadata(new Uint8Array(first).buffer).row_groups.map((group) =>
    Number(group.num_rows),
  );
  assert.deepEqual(groups, [50_000, 50_000, 20_000]);
});

test('records are counted in the bytes, whatever the pieces', async () => {
  const encodings: Encoding[] = [...fileFormats, 'TabSeparated' as const].map((format) => ({
    format,
    ...none,
  }));
  encodings.push({ format: 'TabSeparated', ...none, has_names: true });
  for (const encoding of encodings) {
    const bytes = await clickhouse.bytes(selectFor(encoding, contractColumns), from);
    const result = await encode(encoding, pieces(bytes));
    assert.equal(result.records, contractRows.length, JSON.stringify(encoding));
    assert.equal(result.bytes, bytes.length);
    // Avro gets markers of ours.
    if (encoding.format !== 'Avro') assert.ok(result.content.equals(bytes));
  }
});

test('compressed bytes open again, and are those that were hashed', async () => {
  const open = { gzip: gunzipSync, brotli: brotliDecompressSync, zstd: zstdDecompressSync };
  const bytes = await clickhouse.bytes(
    selectFor({ format: 'CSV', ...none }, contractColumns),
    from,
  );
  for (const compression of ['gzip', 'brotli', 'zstd'] as const) {
    const result = await encode({ format: 'CSV', compression }, pieces(bytes));
    assert.ok(open[compression](result.content).equals(bytes));
    assert.equal(result.records, contractRows.length);
    assert.ok(result.bytes < bytes.length / 10);
    assert.equal(result.sha256, createHash('sha256').update(result.content).digest('hex'));
    assert.equal(result.bytes, result.content.length);
  }
});

test('a source that ends too early or fails is an error of the result', async () => {
  for (const format of [...fileFormats, 'TabSeparated'] as const) {
    const encoding = { format, compression: null } as Encoding;
    const bytes = await clickhouse.bytes(selectFor(encoding, contractColumns), from);
    await assert.rejects(encode(encoding, [bytes.subarray(0, -3)]), /source ended/, format);
  }
  const failure = new Error('the query failed');
  const broken = Readable.from(
    (async function* () {
      yield Buffer.from('{}\n');
      throw failure;
    })(),
  );
  for (const compression of [null, 'gzip'] as const) {
    const stage = encodeStage({ format: 'JSONLines', compression });
    const output = stage.pipeline(
      compression === null
        ? broken
        : Readable.from(
            (async function* () {
              yield Buffer.from('{}\n');
              throw failure;
            })(),
          ),
    );
    await assert.rejects(output.toArray(), (error) => error === failure);
    assert.throws(() => stage.finish(), /not read to its end/);
  }
});

test('a slow reader holds the source back', async () => {
  let given = 0;
  const line = Buffer.alloc(64 * 1024, 0x20);
  line[line.length - 1] = 0x0a;
  const source = Readable.from(
    (function* () {
      for (; given < 4_000; given += 1) yield line;
    })(),
  );
  const stage = encodeStage({ format: 'JSONLines', compression: null });
  const output = stage.pipeline(source);
  const iterator = output[Symbol.asyncIterator]();
  await iterator.next();
  await new Promise(setImmediate);
  assert.ok(given < 100, `${given} pieces of 64 KiB were taken while one was read`);
  output.destroy();
});
