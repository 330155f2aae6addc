import { valuesOfRecord } from '../../../model/destination/rejected_rows.ts';
import type { ContentSource, ValueRow } from '../../../model/destination/content_source.ts';
import type { DeliveredSlices } from '../../../model/destination/destination.ts';
import type { Difference } from '../../../model/destination/difference.ts';
import { rowDigest } from './held_rejections.ts';
import type { HeldRejection } from './set_aside.ts';

/** The rejected rows beside a table, by delivery. */
export type KnownRejected = {
  /** Its name for users. */
  name: string;
  list(delivery_id: string): Promise<HeldRejection[]>;
};

/**
 * Returns the source without rejected rows, which match by their sent values, and the deliveries
 * whose number of rejected rows differs from their receipts. Memory holds the rejected rows of one
 * delivery.
 */
export async function withoutRejected(
  delivered: DeliveredSlices[],
  source: ContentSource,
  rejected: KnownRejected,
): Promise<{ source: ContentSource; differences: Difference[] }> {
  const having = new Map(
    delivered.flatMap((one) => {
      const { rejected_records = 0 } = JSON.parse(one.manifest) as { rejected_records?: number };
      return rejected_records === 0 ? [] : [[one.delivery.delivery_id, rejected_records] as const];
    }),
  );
  if (having.size === 0) return { source, differences: [] };
  const differences: Difference[] = [];
  for (const [delivery_id, expected] of having) {
    const found = (await rejected.list(delivery_id)).length;
    if (found !== expected)
      differences.push({
        kind: found < expected ? 'missing' : 'added',
        name: `${rejected.name} delivery ${delivery_id}`,
        delivery_id,
        detail: `Rejected rows: ${expected} in the receipt, ${found} in the table.`,
      });
  }
  const { columns } = delivered[0]!.delivery;
  async function* rows(delivery_id: string, slice?: number): AsyncGenerator<ValueRow> {
    const held = having.has(delivery_id) ? await rejected.list(delivery_id) : [];
    const left = new Map<string, number>();
    for (const { record } of held) {
      const values = valuesOfRecord(columns, record);
      const digest = values === undefined ? '' : rowDigest(columns, values);
      left.set(digest, (left.get(digest) ?? 0) + 1);
    }
    for await (const row of source.rows(delivery_id, slice)) {
      const digest = left.size === 0 ? '' : rowDigest(columns, row);
      const count = left.get(digest) ?? 0;
      if (count === 0) yield row;
      else left.set(digest, count - 1);
    }
  }
  return { source: { ...source, rows }, differences };
}
