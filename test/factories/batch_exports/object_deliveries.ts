import { Readable } from 'node:stream';
import type {
  Delivery,
  Sink,
  SliceOutcome,
} from '../../../server/engine/model/destination/destination.ts';

/** A delivery without columns to an object store. */
export const delivery: Delivery = {
  delivery_id: '018f0000-0000-7000-8000-0123456789ab',
  run_id: '018f0000-0000-7000-8000-0123456789ab',
  attempt: 1,
  batch_export_id: '018f0000-0000-7000-8000-000000000001',
  team_id: 1,
  model: 'events',
  data_interval_start: '2015-09-11T00:00:00Z',
  data_interval_end: '2015-09-12T00:00:00Z',
  timezone: 'UTC',
  columns: [],
};

/** Writes a slice of one row of three bytes. */
export const write = async (sink: Sink, number = 0): Promise<SliceOutcome> => ({
  number,
  ...(await sink.write({ number, records: 1 }, Readable.from([Buffer.from('{}\n')]))),
  records: 1,
  bytes: 3,
  sha256: '',
});
