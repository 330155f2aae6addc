import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { DestinationDeps } from '../../../server/engine/model/destination/destination.ts';
import { findDestination } from '../../../server/engine/destinations/index.ts';
import { freshDelivery } from './deliveries.ts';
import { pageOf, smallParquet } from './small_parquet.ts';

const text = { name: 'text', type: 'text', nullable: true, expression: 'text' } as const;

/** Delivers two rows of a new export to an Iceberg table, without a run. */
export async function deliverRows(
  config: Record<string, unknown>,
  team_id: number,
  deps: DestinationDeps,
): Promise<void> {
  const delivery = freshDelivery({ team_id, batch_export_id: randomUUID(), columns: [text] });
  const sink = await findDestination('Iceberg')!.open(config, delivery, deps);
  await sink.recover([]);
  const bytes = Readable.from([smallParquet(pageOf(2), 2)]);
  const written = await sink.write({ number: 0, records: 2, is_last: true }, bytes);
  const outcomes = [{ number: 0, records: 2, bytes: 0, sha256: '', ...written }];
  await sink.commit(outcomes, { name: 'manifest', text: '{}' });
  assert.equal(await sink.isCommitted(), true);
  await sink.close();
}
