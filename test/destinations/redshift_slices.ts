import { Readable } from 'node:stream';
import { RedshiftWorld } from './redshift_world.ts';

/** The cluster. */
export const world = new RedshiftWorld('INSERT');

/** A slice of one row. */
export const row = () => Readable.from([Buffer.from('abc\n')]);
