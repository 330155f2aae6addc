import type { Difference } from '../../model/destination/difference.ts';
import { every_event } from '../../model/models/event_filter.ts';
import { models } from '../../model/models/index.ts';
import { isUuid } from '../../../platform/uuid.ts';
import type { Engine } from '../engine.ts';
import type { LookedAtExport } from './missing_deliveries.ts';

/** The instants of a stored row, in milliseconds; `happened` is null if the model has none. */
export type StoredAt = { key: string; happened: number | null; inserted: number };

const everything = {
  event_from: -Infinity,
  event_to: Infinity,
  inserted_from: -Infinity,
  inserted_to: Infinity,
};

/** Finds the instants of all versions of the differing rows that the source still has, by key. */
export async function locateRows(
  { clickhouse }: Pick<Engine, 'clickhouse'>,
  { team_id, model }: LookedAtExport,
  differences: Difference[],
  signal: AbortSignal,
): Promise<Map<string, StoredAt[]>> {
  const { key, has_event_time, versions } = models[model];
  const isKey = key === 'uuid' ? isUuid : () => true;
  const keys = [
    ...new Set(differences.flatMap((one) => (one.key === undefined ? [] : [one.key]))),
  ].filter(isKey);
  if (keys.length === 0) return new Map();
  const { text, parameters } = versions(team_id, [everything], every_event);
  // Uses the projection `uuids` for events.
  const named =
    key === 'uuid'
      ? 'toUInt128(uuid) IN (SELECT toUInt128(toUUID(arrayJoin({keys:Array(String)}))))'
      : `${key} IN {keys:Array(String)}`;
  const happened = has_event_time ? 'toString(toUnixTimestamp64Milli(timestamp))' : 'NULL';
  const rows = await clickhouse.rows<{ key: string; happened: string | null; inserted: string }>({
    query: `SELECT toString(${key}) AS key, ${happened} AS happened,
        toString(toUnixTimestamp64Milli(inserted_at)) AS inserted
      FROM ${text} WHERE ${named}`,
    query_params: { ...parameters, keys },
    use_multipart_params_auto: true,
    abort_signal: signal,
  });
  const found = Map.groupBy(
    rows.map((row) => ({
      key: row.key,
      happened: row.happened === null ? null : Number(row.happened),
      inserted: Number(row.inserted),
    })),
    (row) => row.key,
  );
  for (const versions_of of found.values())
    versions_of.sort((one, other) => other.inserted - one.inserted);
  return found;
}
