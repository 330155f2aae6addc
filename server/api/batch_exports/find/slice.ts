import { isInPartition } from '../../../engine/exports/source/partitions.ts';
import { isOfTable } from '../../../engine/model/destination/partition.ts';
import type { SlicePartition } from '../../../engine/model/destination/partition.ts';
import type { StoredSlice } from '../../../engine/model/run.ts';
import { keyOf } from './store.ts';
import type { StoredRecord } from './store.ts';

/**
 * Returns the slice of a run that contains a record, by the slices' bounds. Undefined also if an
 * erasure has emptied the bound beside the record.
 */
export function sliceOf(slices: StoredSlice[], record: StoredRecord): StoredSlice | undefined {
  const isBeside = ({ inserted_to, key_to }: StoredSlice) =>
    key_to === '' && inserted_to !== null && microseconds(inserted_to) === record.inserted_us;
  const parted = slices.filter(({ partition = null }) => isOfPartition(partition, record));
  if (parted.some(isBeside)) return undefined;
  const found = parted.filter((slice) => isIn(slice, record));
  // A table may be partitioned by any column, so several slices may contain the record.
  const isUnsure = found.length > 1 && found.some(({ partition }) => isTables(partition ?? null));
  return isUnsure ? undefined : found[0];
}

function isTables(partition: SlicePartition | null): boolean {
  return partition !== null && isOfTable(partition);
}

function isOfPartition(partition: SlicePartition | null, record: StoredRecord): boolean {
  const { event, happened_us } = record;
  return (
    partition === null ||
    isOfTable(partition) ||
    event === null ||
    happened_us === null ||
    isInPartition({ event, happened_us }, partition)
  );
}

function isIn(
  { inserted_from, inserted_to, key_from, key_to }: StoredSlice,
  record: StoredRecord,
): boolean {
  if (inserted_from === null || inserted_to === null) return true;
  const { inserted_us } = record;
  const [from, to] = [microseconds(inserted_from), microseconds(inserted_to)];
  const key = orderKey(keyOf(record), record.model);
  const isBehindStart =
    inserted_us > from ||
    (inserted_us === from && (!isText(key_from) || key >= orderKey(key_from, record.model)));
  const isBeforeEnd =
    inserted_us < to ||
    (inserted_us === to && isText(key_to) && key < orderKey(key_to, record.model));
  return isBehindStart && isBeforeEnd;
}

function isText(key: string | null | undefined): key is string {
  return typeof key === 'string';
}

/** The store sorts a UUID by its second half first, and texts by their bytes. */
function orderKey(key: string, model: StoredRecord['model']): string {
  if (model !== 'events') return Buffer.from(key).toString('hex');
  const digits = key.replaceAll('-', '').toLowerCase();
  return digits.slice(16) + digits.slice(0, 16);
}

function microseconds(text: string): number {
  return Date.parse(`${text.slice(0, 23)}Z`) * 1000 + Number(text.slice(23, 26));
}
