import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Reading } from './source_query.ts';
import type { StoredSlice } from '../run.ts';
import { cutSlices } from './source.ts';
import type { Store } from './source.ts';

/** The exports of a project that are due together are taken within seconds. */
const lifetime_ms = 10_000;
const remembered_max = 1_000;

/** By store, so that what is remembered goes with it. */
const remembered = new WeakMap<
  ClickHouse,
  Map<string, { slices: StoredSlice[]; cut_at: number }>
>();

/**
 * Cuts as `cutSlices` does, and remembers small answers for some seconds: exports of one project with the same rhythm select the same events, and the store is asked once for all of them. Events of a selection are final when a run is
 * planned, so the answer stays true; persons move on, and a query is its own, so they are counted each time.
 */
export async function cutSlicesOnce(
  store: Store,
  reading: Reading,
  bytesMax: number | undefined,
  signal: AbortSignal,
): Promise<StoredSlice[]> {
  if (reading.query !== undefined || reading.key !== 'uuid')
    return cutSlices(store, reading, bytesMax, signal);
  const recent =
    remembered.get(store.clickhouse) ??
    new Map<string, { slices: StoredSlice[]; cut_at: number }>();
  remembered.set(store.clickhouse, recent);
  const question = JSON.stringify([reading.text, reading.parameters, bytesMax ?? null]);
  const known = recent.get(question);
  if (known !== undefined && performance.now() - known.cut_at < lifetime_ms) return known.slices;
  const slices = await cutSlices(store, reading, bytesMax, signal);
  recent.delete(question);
  if (slices.length <= 1) recent.set(question, { slices, cut_at: performance.now() });
  // A Map keeps the order of its entries: the first one is the oldest.
  for (const oldest of recent.keys()) {
    if (recent.size <= remembered_max) break;
    recent.delete(oldest);
  }
  return slices;
}
