import { Readable } from 'node:stream';
import type {
  Delivery,
  Sink,
  SliceOutcome,
} from '../../../server/engine/model/destination/destination.ts';

/** A delivery without columns to a folder, with these changes. */
export const fileDelivery = (changes: Partial<Delivery> = {}): Delivery => ({
  delivery_id: '018f0000-0000-7000-8000-0123456789ab',
  run_id: '018f0000-0000-7000-8000-0123456789ab',
  attempt: 1,
  batch_export_id: '018f0000-0000-7000-8000-000000000001',
  team_id: 1,
  model: 'events',
  data_interval_start: '2015-09-11T23:30:00Z',
  data_interval_end: '2015-09-12T00:00:00Z',
  timezone: 'UTC',
  columns: [],
  ...changes,
});

/** Writes a slice with one empty row. */
export async function emptyRow(sink: Sink): Promise<SliceOutcome> {
  const { name, state } = await sink.write(
    { number: 0, records: 1 },
    Readable.from([Buffer.from('{}\n')]),
  );
  const sha256 = 'ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356';
  return { number: 0, name, state, records: 1, bytes: 3, sha256 };
}
