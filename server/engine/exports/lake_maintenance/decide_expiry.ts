import type { SnapshotRef } from '../../model/lake_catalog/metadata.ts';
import type { MaintenanceRules } from './rules.ts';

/** The parts of a snapshot that decide its expiry. */
export type AgedSnapshot = { id: string; parent_id: string | null; timestamp_ms: number };

/** The snapshots and refs to remove from a table. */
export type Expiry = { snapshots: string[]; refs: string[] };

type Refs = Record<string, SnapshotRef>;

/**
 * Decides which snapshots expire, by the rules of the specification. A ref lives for its own time
 * or the table's; `main` lives for ever. A branch keeps its latest snapshots by age and by number;
 * a tag keeps its snapshot. Snapshots that no ref reaches stay for the usual age.
 */
export function decideExpiry(
  snapshots: readonly AgedSnapshot[],
  refs: Refs,
  rules: Pick<MaintenanceRules, 'snapshot_age_ms' | 'snapshots_min' | 'ref_age_ms'>,
  now_ms: number,
): Expiry {
  const known = new Map(snapshots.map((one) => [one.id, one]));
  const isOver = ([name, ref]: [string, SnapshotRef]) => {
    const head = known.get(String(ref['snapshot-id']));
    const age = Number(ref['max-ref-age-ms'] ?? rules.ref_age_ms);
    return name !== 'main' && head !== undefined && now_ms - head.timestamp_ms > age;
  };
  const entries = Object.entries(refs);
  const dropped = entries.filter(isOver).map(([name]) => name);
  const left = entries.filter(([name]) => !dropped.includes(name));
  const [kept, reached] = [new Set<string>(), new Set<string>()];
  for (const [, ref] of left) {
    const head = String(ref['snapshot-id']);
    if (ref.type === 'tag') {
      kept.add(head);
      continue;
    }
    const oldest_ms = now_ms - Number(ref['max-snapshot-age-ms'] ?? rules.snapshot_age_ms);
    const least = Number(ref['min-snapshots-to-keep'] ?? rules.snapshots_min);
    let count = 0;
    for (let one = known.get(head); one !== undefined; one = known.get(one.parent_id ?? '')) {
      reached.add(one.id);
      count += 1;
      if (count <= Math.max(1, least) || one.timestamp_ms >= oldest_ms) kept.add(one.id);
    }
  }
  const oldest_ms = now_ms - rules.snapshot_age_ms;
  const stays = ({ id, timestamp_ms }: AgedSnapshot) =>
    kept.has(id) || (!reached.has(id) && timestamp_ms >= oldest_ms);
  return { refs: dropped, snapshots: snapshots.filter((one) => !stays(one)).map(({ id }) => id) };
}
