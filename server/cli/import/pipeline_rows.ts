import { v5 } from 'uuid';
import { messageUuid } from '../../api/capture/read/read_draft.ts';
import { messageDraft } from '../../api/capture/segment/message.ts';
import { isJsonObject, parseExact } from '../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../engine/ingest/parse/exact_json.ts';
import { withoutUndefined } from '../../platform/fields.ts';
import { isGiven } from './product_rows.ts';
import { foreign_id_namespace, Unmappable } from './unmappable.ts';

const calls = ['track', 'page', 'screen', 'identify', 'group', 'alias'];

/**
 * Reads a call of Segment or RudderStack in its storage format. Guarantee: it becomes the same
 * event with the same uuid as when a library sends the call to Sluice, so a call that came both
 * ways is stored once.
 */
export function readMessage(row: JsonObject): JsonObject {
  if (!calls.includes(String(row['type'])))
    throw new Unmappable(`The field "type" must be one of ${calls.join(', ')}.`);
  const { name, distinct_id, message_id, at, properties, set } = messageDraft(row, undefined);
  return withoutUndefined({
    event: name,
    distinct_id,
    timestamp: at,
    uuid: messageUuid(message_id),
    properties,
    $set: set,
  });
}

/** Columns of PostHog's batch exports about its own storage. */
const of_storage = new Set([
  'team_id',
  'project_id',
  'person_id',
  'person_properties',
  'created_at',
  'inserted_at',
  '_inserted_at',
  'bq_ingested_timestamp',
  'set',
  'ip',
  'site_url',
  'elements_chain',
]);

/**
 * Opens a reader for PostHog's batch export files, of events or of persons. A row of persons sets
 * the properties of its distinct id, and joins it to the first id of its person in the file.
 */
export function openPosthogRows(): (row: JsonObject) => JsonObject {
  const first_ids = new Map<string, string>();
  return (row) =>
    row['event'] === undefined && isGiven(row['person_id'])
      ? personOf(row, first_ids)
      : posthogEvent(row);
}

function posthogEvent(row: JsonObject): JsonObject {
  const own = Object.entries(row).filter(
    ([name, value]) => !of_storage.has(name) && value !== null,
  );
  const properties = jsonOf(row['properties']);
  const beside = { $ip: row['ip'], $elements_chain: row['elements_chain'] };
  const given = Object.entries(beside).filter(([, value]) => isGiven(value));
  return {
    ...Object.fromEntries(own),
    properties: { ...Object.fromEntries(given), ...properties },
  };
}

function personOf(row: JsonObject, first_ids: Map<string, string>): JsonObject {
  const [person, id] = [String(row['person_id']), String(row['distinct_id'])];
  const first = first_ids.get(person);
  if (first === undefined) first_ids.set(person, id);
  const version = row['person_version'] ?? row['version'] ?? 0;
  const named = JSON.stringify([person, id, version, row['person_distinct_id_version'] ?? 0]);
  return withoutUndefined({
    event: first === undefined || first === id ? '$set' : '$merge_dangerously',
    distinct_id: first ?? id,
    timestamp: row['created_at'] ?? row['_inserted_at'] ?? undefined,
    uuid: v5(named, foreign_id_namespace),
    properties: first === undefined || first === id ? {} : { alias: id },
    $set: jsonOf(row['properties']),
  });
}

/** Returns an object, also if a Parquet file has it as text. */
function jsonOf(value: unknown): JsonObject {
  if (typeof value !== 'string') return isJsonObject(value) ? value : {};
  try {
    const read = parseExact(value);
    return isJsonObject(read) ? read : {};
  } catch {
    throw new Unmappable('The field "properties" is not JSON.');
  }
}
