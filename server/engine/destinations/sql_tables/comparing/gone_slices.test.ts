import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeliveredSlices } from '../../../model/destination/destination.ts';
import type { ContentSource, ValueRow } from '../../../model/destination/content_source.ts';
import type { Column } from '../../../model/models/column.ts';
import { openRowDigest } from '../../contents/digest.ts';
import { openGoneSlices } from './gone_slices.ts';
import { openRowSum } from './row_sum.ts';

const columns = (
  [
    ['uuid', 'uuid'],
    ['properties', 'json'],
    ['timestamp', 'timestamp'],
    ['inserted_at', 'timestamp'],
  ] satisfies [string, Column['type']][]
).map(([name, type]): Column => ({ name, type, nullable: false, expression: name }));
const at = '2026-11-30T12:00:00.000000Z';
const row = (number: number, properties: string): ValueRow => [
  `018f0000-0000-7000-8000-00000000000${number}`,
  properties,
  at,
  at,
];
const rows = [row(1, '{"a":1,"b":2}'), row(2, '{"c":0.5}')];

/** The differences of a table from a receipt whose rows the source has lost. */
async function differencesOf(is_rows_digest: boolean, found: ValueRow[]) {
  const sum = (is_rows_digest ? openRowSum : openRowDigest)(columns);
  for (const one of rows) sum.add(one);
  const bounds = { event_from: null, event_to: null, inserted_from: null, inserted_to: null };
  const slice = { number: 0, records: 2, inserted_from: null, inserted_to: null };
  const notes: string[] = [];
  const delivery = { delivery_id: 'one', columns, model: 'events' };
  const slices = openGoneSlices(
    { name: 'events', is_shared: false },
    [{ delivery } as unknown as DeliveredSlices],
    {
      contents: () => ({
        selection: [bounds],
        columns: columns.map(({ name }) => name),
        slices: [{ ...slice, digest: sum.value(), is_rows_digest }],
      }),
      note: (sentence: string) => notes.push(sentence),
    } as unknown as ContentSource,
  );
  assert.match(notes.join(), /compared by the digests/);
  const table = async function* () {
    yield* found;
  };
  assert.deepEqual(await Array.fromAsync(slices.without(table())), []);
  return slices.differences().map(({ kind }) => kind);
}

for (const is_rows_digest of [true, false])
  test(`a slice has its ${is_rows_digest ? 'digest of rows' : 'older digest'}`, async () => {
    const respelled = [row(2, '{"c":5e-1}'), row(1, '{ "b": 2, "a": 1.0 }')];
    assert.deepEqual(await differencesOf(is_rows_digest, respelled), []);
    const changed = [rows[0]!, row(2, '{"c":0.25}')];
    assert.deepEqual(await differencesOf(is_rows_digest, changed), ['changed']);
    assert.deepEqual(await differencesOf(is_rows_digest, rows.slice(1)), ['missing']);
  });
