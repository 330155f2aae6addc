import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAvro, writeAvro } from './avro_file.ts';

const schema = {
  type: 'record',
  name: 'one',
  fields: [{ name: 'value', type: ['null', 'long'], default: null, 'field-id': 1 }],
};
const records = [{ value: 2n ** 63n - 1n }, { value: -(2n ** 63n) }, { value: null }];

test('records come back, with integers of 64 bits and keys that Avro does not know', () => {
  const file = readAvro(writeAvro(schema, records, { 'format-version': '2' }));
  assert.deepEqual(
    file.records.map((record) => ({ ...record })),
    records,
  );
  assert.deepEqual(file.schema, schema);
  assert.equal(file.meta['format-version'], '2');
  assert.deepEqual(readAvro(writeAvro(schema, [], {})).records, []);
});

test('a damaged file fails instead of giving fewer records', () => {
  const bytes = writeAvro(schema, records, {});
  assert.throws(() => readAvro(Buffer.from('no file')), /no Avro file/);
  for (let length = 0; length < bytes.length; length += 1)
    // A file may end after its header: then it has no records.
    if (length !== bytes.length - blockBytes(bytes))
      assert.throws(() => readAvro(bytes.subarray(0, length)), `cut to ${length}`);
  const broken = Buffer.from(bytes);
  broken[broken.length - 1]! ^= 1;
  assert.throws(() => readAvro(broken), /damaged/);
  const packed = Buffer.from(bytes.toString('latin1').replace('deflate', 'unknown'), 'latin1');
  assert.throws(() => readAvro(packed), /packed with unknown/);
});

/** The bytes behind the header of a file without records of the same schema. */
function blockBytes(bytes: Buffer): number {
  return bytes.length - writeAvro(schema, [], {}).length;
}
