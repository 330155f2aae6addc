import { Readable } from 'node:stream';
import type {
  ContentSource,
  ValueRow,
} from '../../../server/engine/model/destination/content_source.ts';

/**
 * A source that still has these rows: of each delivery the same ones, or those that `rows` gives of
 * it. What is noted goes to `notes`.
 */
export function sourceOf(
  rows: ValueRow[] | ((delivery_id: string) => ValueRow[]),
  notes: string[] = [],
): ContentSource {
  return {
    rows: (id) => Readable.from(typeof rows === 'function' ? rows(id) : rows),
    isWhole: () => Promise.resolve(true),
    contents: () => ({ selection: [], slices: [] }),
    note: (sentence) => void notes.push(sentence),
    onRow: () => undefined,
  };
}
