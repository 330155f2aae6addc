import assert from 'node:assert/strict';
import { test } from 'node:test';
import { case_key, case_now } from '../../../../test/capture_cases/protocol_case.ts';
import { openMessage } from '../read/message.ts';

/** A field of protobuf with what it holds; shorter than two million bytes. */
function field(number: number, inside: Buffer | string): Buffer {
  const bytes = Buffer.from(inside);
  const size = [bytes.length & 0x7f, (bytes.length >> 7) & 0x7f, bytes.length >> 14];
  return Buffer.concat([
    Buffer.from([(number << 3) | 2, size[0]! | 0x80, size[1]! | 0x80, size[2]!]),
    bytes,
  ]);
}
const keyed = (key: string, value: Buffer) => Buffer.concat([field(1, key), field(2, value)]);
const text = (value: string) => field(1, value);

/** An attribute whose value has so many levels, of objects or of lists. */
function attribute(levels: number, form: 'object' | 'list'): Buffer {
  let value = text('x');
  for (let level = 0; level < levels; level += 1)
    value = form === 'object' ? field(6, field(1, keyed('a', value))) : field(5, field(1, value));
  return field(6, keyed('deep', value));
}

function read(records: Buffer[]) {
  const all = Buffer.concat(records.map((record) => field(2, record)));
  const message = openMessage(field(1, field(2, all)), {
    method: 'POST',
    path: '/v1/logs',
    query: {},
    headers: { write_key: case_key, content_type: 'application/x-protobuf' },
    sender: { user_agent: undefined, address: '127.0.0.1' },
    received_ms: Date.parse(case_now),
  });
  return [...message.read()].map(
    ({ read: { event }, warnings }) => event?.event ?? warnings.at(-1),
  );
}

test('a record that is nested too deeply is refused alone, whatever it is nested in', () => {
  const record = (name: string, ...attributes: Buffer[]) =>
    Buffer.concat([field(12, name), field(6, keyed('user.id', text('ada'))), ...attributes]);
  for (const form of ['object', 'list'] as const)
    assert.deepEqual(
      read([
        record('flat'),
        record('deep', attribute(99, form)),
        record('deeper', attribute(100, form)),
        record('deepest', attribute(900, form)),
        record('last'),
      ]),
      ['flat', 'deep', 'event_refused', 'event_refused', 'last'],
      form,
    );
  assert.throws(() => read([record('abyss', attribute(5_000, 'list'))]), /nested too deeply/);
});
