import assert from 'node:assert/strict';
import { test } from 'node:test';
import { murmur3, transformed } from './partition_transforms.ts';
import type { Transform } from './partition_transforms.ts';

const micros = (instant: string) => BigInt(Date.parse(instant)) * 1_000n;

test('hashes are those of the Iceberg specification', () => {
  const long = (value: bigint) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    return bytes;
  };
  for (const [bytes, hash] of [
    [long(34n), 2_017_239_379],
    [Buffer.from('iceberg'), 1_210_000_089],
    [long(BigInt(17_486)), -653_330_422],
    [long(81_068_000_000n), -662_762_989],
    [long(1_510_871_468_000_000n), -2_047_944_441],
    [Buffer.from([0, 1, 2, 3]), -188_683_207],
  ] as const)
    assert.equal(murmur3(bytes), hash, bytes.toString('hex'));
});

test('partitions of values', () => {
  const cases: [
    Transform,
    string | bigint | boolean | null,
    string | bigint | number | boolean | null,
  ][] = [
    ['day', micros('1970-01-01T00:00:00Z'), 0],
    ['day', micros('2017-11-16T22:31:08Z'), 17_486],
    ['day', -1n, -1],
    ['day', micros('1969-12-31T00:00:00Z'), -1],
    ['day', micros('1969-12-30T23:59:59Z'), -2],
    ['hour', micros('2017-11-16T22:31:08Z'), 419_686],
    ['hour', -1n, -1],
    ['month', micros('2017-11-16T22:31:08Z'), 574],
    ['month', micros('1970-01-01T00:00:00Z'), 0],
    ['month', -1n, -1],
    ['month', micros('1968-12-31T23:59:59Z'), -13],
    ['identity', true, true],
    ['bucket[16]', 34n, 2_017_239_379 % 16],
    ['bucket[100]', 'iceberg', 1_210_000_089 % 100],
    ['bucket[10]', 17_486n, (-653_330_422 & 0x7f_ff_ff_ff) % 10],
    ['identity', 'text', 'text'],
    ['identity', 2n ** 60n, 2n ** 60n],
    ['day', null, null],
    ['hour', null, null],
    ['bucket[16]', null, null],
    ['identity', null, null],
  ];
  for (const [transform, value, expected] of cases)
    assert.equal(transformed(transform, value), expected, `${transform} of ${value}`);
});
