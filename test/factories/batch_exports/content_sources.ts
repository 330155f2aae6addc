import { Readable } from 'node:stream';
import type {
  ContentSource,
  ValueRow,
} from '../../../server/engine/model/destination/content_source.ts';

/**
 * Creates a source that still has these rows: the same for each delivery, or the ones that `rows`
 * returns for it. Its notes go to `notes`.
 */
export function sourceOf(
  rows: ValueRow[] | ((delivery_id: string) => ValueRow[]),
  notes: string[] = [],
): ContentSource {
  return {
    rows: (id) => Readable.from(typeof rows === 'function' ? rows(id) : rows),
    isWhole: () => Promise.resolve(true),
    contents: () => ({ selection: [], columns: [], slices: [] }),
    findBroughtAgain: async () => new Set(),
    note: (sentence) => void notes.push(sentence),
    onRow: () => undefined,
  };
}
