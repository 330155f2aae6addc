import type { SourceQuery } from './source_query.ts';
import type { StoredSlice } from '../../model/run.ts';
import { openMemo } from './memo.ts';
import { cutSlices, usual_most } from './cut_slices.ts';
import type { SizeBound } from './measured_cut.ts';
import type { Store } from './source.ts';

const remembered = openMemo<StoredSlice[]>(1_000);

/**
 * Cuts like `cutSlices`, and caches small answers for some seconds. Exports of one project with the
 * same interval select the same events, so the store is asked once for all of them. Events of a
 * selection are final when a run is planned, so the answer stays true. Persons change, and queries
 * differ, so these are counted each time.
 */
export async function cutSlicesOnce(
  store: Store,
  reading: SourceQuery,
  bound: SizeBound | undefined,
  signal: AbortSignal,
  most = usual_most,
): Promise<StoredSlice[]> {
  if (reading.query !== undefined || reading.key !== 'uuid')
    return cutSlices(store, reading, bound, signal, most);
  const question = JSON.stringify([reading.text, reading.parameters, bound ?? null, most]);
  const cut = await remembered.once(store.clickhouse, question, async () => {
    const slices = await cutSlices(store, reading, bound, signal, most);
    if (slices.length <= 1) remembered.keep(store.clickhouse, question, slices);
    return slices;
  });
  return cut!;
}
