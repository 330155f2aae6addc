import { Readable } from 'node:stream';
import { RedshiftWorld } from './redshift_world.ts';
import type { SliceOutcome } from '../../server/engine/destination/destination.ts';

/** The cluster. */
export const world = new RedshiftWorld('INSERT');

/** A slice of one row. */
export const row = () => Readable.from([Buffer.from('abc\n')]);

/** The manifest of each delivery. */
export const manifest = { name: 'manifest', text: '{}' };

/** The outcome of the first slice, of so many rows. */
export const outcomeOf = (records: number): SliceOutcome => ({
  number: 0,
  name: 'x',
  records,
  bytes: 0,
  sha256: '',
  state: null,
});
