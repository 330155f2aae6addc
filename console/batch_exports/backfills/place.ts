import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';

/** Keys that name the rows' place at a destination, the most specific first. */
const keys = ['table_name', 'table', 'prefix', 'bucket_name', 'url'];

/**
 * Returns the place of an export's rows: its table or prefix, or else the type of its destination.
 */
export function placeOf({ type, config }: BatchExport['destination']): string {
  const values = (config ?? {}) as Record<string, unknown>;
  const texts = keys.map((key) => values[key]).filter((value) => typeof value === 'string');
  return texts.find((text) => text !== '') ?? type;
}
