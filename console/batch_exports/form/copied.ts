import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { keysOf, shownValue } from '../../destinations/config.ts';
import type { Config } from '../../destinations/config.ts';
import { draftOf } from './draft.ts';
import type { Draft } from './draft.ts';

/**
 * Returns the fields of a new export that copies another one, without its secrets, which the API
 * never returns, and without its start.
 */
export function copyOf(row: BatchExport, types: readonly DestinationType[], zone: string): Draft {
  const type = types.find((one) => one.type === row.destination.type);
  const config = (row.destination.config ?? {}) as Config;
  const typed = Object.fromEntries(
    (type === undefined ? [] : keysOf(type))
      .filter(([key, { writeOnly }]) => writeOnly !== true && (config[key] ?? null) !== null)
      .map(([key, schema]) => [key, shownValue(schema, config[key])]),
  );
  return { ...draftOf(row, zone), name: `Copy of ${row.name}`, start_at: '', typed };
}
