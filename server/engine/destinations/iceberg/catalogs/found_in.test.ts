import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '../../lake/table_metadata.ts';
import { delivery_key, lastDeliveryKey } from './catalog.ts';
import { currentSnapshot, foundIn, snapshotIdOf } from './found_in.ts';
import type { WholeMetadata } from './peer.ts';

const big = 2n ** 62n + 1n;
const delivery = { delivery_id: 'd1', batch_export_id: 'e1' };

function snapshot(id: bigint | number, parent?: bigint | number, delivery_id?: string): Snapshot {
  return {
    'snapshot-id': id,
    ...(parent === undefined ? {} : { 'parent-snapshot-id': parent }),
    'sequence-number': 1,
    'timestamp-ms': 1,
    'manifest-list': 'x',
    summary: {
      operation: 'append',
      ...(delivery_id === undefined ? {} : { [delivery_key]: delivery_id }),
    },
  };
}

const table = (
  snapshots: Snapshot[],
  current: bigint | number | null,
  properties: Record<string, string> = {},
) => ({ snapshots, 'current-snapshot-id': current, properties }) as unknown as WholeMetadata;

test('a delivery is shown by the current snapshot or an ancestor, with ids of 63 bits', () => {
  const line = [snapshot(1), snapshot(big, 1, 'd1'), snapshot(big + 1n, big)];
  assert.equal(foundIn(table(line, big + 1n), delivery), 'shown');
  assert.equal(foundIn(table(line, big), delivery), 'shown');
  assert.equal(foundIn(table(line, 1), delivery), 'rolled_back');
  assert.equal(foundIn(table([snapshot(1)], 1), delivery), 'absent');
  assert.equal(currentSnapshot(table(line, big + 1n))?.['snapshot-id'], big + 1n);
});

test('main decides, and an empty table has no current snapshot', () => {
  const refs = { main: { 'snapshot-id': 1 } };
  const metadata = { ...table([snapshot(1), snapshot(2, 1, 'd1')], 2), refs };
  assert.equal(foundIn(metadata as WholeMetadata, delivery), 'rolled_back');
  assert.equal(foundIn(table([], -1), delivery), 'absent');
  assert.equal(foundIn(table([], null), delivery), 'absent');
});

test('a snapshot that expired is known by the property of the table', () => {
  const properties = { [lastDeliveryKey('e1')]: 'd1' };
  assert.equal(foundIn(table([snapshot(5)], 5, properties), delivery), 'shown');
  assert.equal(
    foundIn(table([snapshot(5)], 5, properties), { ...delivery, delivery_id: 'd0' }),
    'absent',
  );
  // Whoever rolled the table back left the property as it was.
  const rolled = table([snapshot(4), snapshot(5, 4, 'd1')], 4, properties);
  assert.equal(foundIn(rolled, delivery), 'rolled_back');
});

test('parents in a circle, and snapshots without a summary, end the look', () => {
  const { summary: _summary, ...bare } = snapshot(3, 2);
  const circle = [snapshot(2, 3), bare as Snapshot];
  assert.equal(foundIn(table(circle, 3), delivery), 'absent');
  assert.equal(foundIn(table([...circle, snapshot(9, 2, 'd1')], 3), delivery), 'rolled_back');
});

test('the id of a snapshot is that of its delivery, positive and of 63 bits', () => {
  const ids = Array.from({ length: 100 }, (_, at) => snapshotIdOf(`d${at}`, 0));
  assert.equal(new Set(ids).size, 100);
  assert.ok(ids.every((id) => id > 0n && id < 2n ** 63n));
  assert.equal(snapshotIdOf('d1', 0), snapshotIdOf('d1', 0));
  assert.notEqual(snapshotIdOf('d1', 0), snapshotIdOf('d1', 1));
});
