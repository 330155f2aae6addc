import { v5 } from 'uuid';
import { isJsonObject, shortNumber } from '../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../engine/ingest/parse/exact_json.ts';
import { joinedIds } from './formats.ts';
import type { ImportFormat } from './formats.ts';
import { foreign_id_namespace } from './unmappable.ts';

/** Most pairs of ids that are remembered; sending a pair again changes nothing. */
const joined_max = 1_000_000;

/**
 * Returns an event that joins the two ids of a row, the first time that they occur together. Its
 * uuid depends on the pair alone, so another file with the same pair adds nothing.
 */
export function joinOf(
  line: JsonObject,
  { timestamp }: JsonObject,
  format: ImportFormat | undefined,
  joined: Set<string>,
): string | undefined {
  const [user, visitor] = (joinedIds(line, format) ?? []).map(scalarText);
  if (!user?.trim() || !visitor?.trim() || user === visitor) return undefined;
  const pair = JSON.stringify(['join', user, visitor]);
  if (joined.has(pair)) return undefined;
  if (joined.size >= joined_max) joined.clear();
  joined.add(pair);
  return JSON.stringify({
    event: '$identify',
    distinct_id: user,
    ...(timestamp === undefined ? {} : { timestamp }),
    uuid: v5(pair, foreign_id_namespace),
    properties: { $anon_distinct_id: visitor },
  });
}

/** Returns a string unchanged, and a number in its shortest form; undefined for other values. */
export function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const isNumber =
    typeof value === 'number' ||
    (typeof value === 'object' && value !== null && !Array.isArray(value) && !isJsonObject(value));
  return isNumber ? shortNumber(JSON.stringify(value)) : undefined;
}
