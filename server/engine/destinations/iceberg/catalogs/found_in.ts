import { createHash } from 'node:crypto';
import type { Long, Snapshot } from '../../lake/table_metadata.ts';
import { delivery_key, lastDeliveryKey } from './catalog.ts';
import type { DeliveryName, Shown } from './catalog.ts';
import type { WholeMetadata } from './peer.ts';

/** Returns the current snapshot of `main`; undefined for a table without one. */
export function currentSnapshot(metadata: WholeMetadata): Snapshot | undefined {
  const id = metadata.refs?.['main']?.['snapshot-id'] ?? metadata['current-snapshot-id'];
  return id === undefined || id === null ? undefined : snapshotOf(metadata, id);
}

/**
 * Checks how readers see a delivery: its snapshot is the current one or an ancestor, or it was the
 * last one of its export and its snapshot has expired.
 */
export function foundIn(metadata: WholeMetadata, delivery: DeliveryName): Shown {
  const current = currentSnapshot(metadata);
  if (snapshotsOf(metadata, delivery).length > 0)
    return ancestry(metadata, current).some((one) => isOf(one, delivery)) ? 'shown' : 'rolled_back';
  const last = metadata.properties?.[lastDeliveryKey(delivery.batch_export_id)];
  return last === delivery.delivery_id && current !== undefined ? 'shown' : 'absent';
}

/** Returns the snapshots that have the rows of a delivery, on any branch. */
export function snapshotsOf(
  { snapshots = [] }: WholeMetadata,
  delivery: Pick<DeliveryName, 'delivery_id'>,
): Snapshot[] {
  return snapshots.filter((one) => isOf(one, delivery));
}

/**
 * Returns the id of the snapshot for a delivery; `earlier` counts those that were rolled back. A
 * repeat has the same id, and a catalog accepts no id twice: so at most one attempt applies,
 * whatever answers are lost.
 */
export function snapshotIdOf(delivery_id: string, earlier: number): bigint {
  const hash = createHash('sha256').update(`${delivery_id}:${earlier}`).digest();
  const id = hash.readBigUInt64BE() >> 1n;
  return id === 0n ? 1n : id;
}

function isOf({ summary }: Snapshot, { delivery_id }: Pick<DeliveryName, 'delivery_id'>): boolean {
  return (summary as Snapshot['summary'] | undefined)?.[delivery_key] === delivery_id;
}

function snapshotOf({ snapshots = [] }: WholeMetadata, id: Long): Snapshot | undefined {
  return snapshots.find((one) => String(one['snapshot-id']) === String(id));
}

function ancestry(metadata: WholeMetadata, current: Snapshot | undefined): Snapshot[] {
  const byId = new Map(
    (metadata.snapshots ?? []).map((one) => [String(one['snapshot-id']), one] as const),
  );
  const line: Snapshot[] = [];
  for (let one = current; one !== undefined;) {
    line.push(one);
    // A parent is visited once, even if the metadata is circular.
    byId.delete(String(one['snapshot-id']));
    const parent = one['parent-snapshot-id'];
    one = parent === undefined || parent === null ? undefined : byId.get(String(parent));
  }
  return line;
}
