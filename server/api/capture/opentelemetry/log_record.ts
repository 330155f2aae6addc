import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Draft } from '../draft.ts';
import { plainAttributes, plainValue } from './attributes.ts';

/** Who did it, in the attributes of the record, else of the resource; the first that is there. */
const who_of_record = ['distinct_id', 'posthogDistinctId', 'user.id', 'enduser.id', 'session.id'];
const who_of_resource = ['user.id', 'service.instance.id', 'host.id', 'host.name', 'service.name'];
/** What names the record itself. */
const id_names = ['event.id', 'log.record.uid'];

/** What the records of one resource and scope share. */
export type Shared = { resource: JsonObject; scope: JsonObject };

/** The event that a log record stands for: it has the record's `eventName`, or is called `log`. */
export function logDraft(record: unknown, { resource, scope }: Shared): Draft {
  if (!isJsonObject(record)) return { name: undefined, distinct_id: undefined, properties: {} };
  const attributes = plainAttributes(record['attributes']);
  const given = record['eventName'] === '' ? undefined : record['eventName'];
  const { severityNumber, severityText } = record;
  return {
    name: given ?? attributes['event.name'] ?? 'log',
    distinct_id: firstOf(attributes, who_of_record) ?? firstOf(resource, who_of_resource),
    distinct_id_otherwise: 'uuid',
    message_id: firstOf(attributes, id_names),
    at: instantOf(record['timeUnixNano']) ?? instantOf(record['observedTimeUnixNano']),
    // Nobody says when it was sent, and the clocks of servers are right.
    is_at_right: true,
    properties: {
      ...attributes,
      ...(record['body'] === undefined ? {} : { body: plainValue(record['body']) }),
      ...(severityNumber ? { severity_number: severityNumber } : {}),
      ...(severityText ? { severity_text: severityText } : {}),
      ...idsOf(record),
      ...(Object.keys(resource).length === 0 ? {} : { resource }),
      ...(Object.keys(scope).length === 0 ? {} : { scope }),
    },
  };
}

function firstOf(attributes: JsonObject, names: readonly string[]): unknown {
  const name = names.find((one) => Object.hasOwn(attributes, one) && attributes[one] !== '');
  return name === undefined ? undefined : attributes[name];
}

function idsOf(record: JsonObject): JsonObject {
  const ids: JsonObject = {};
  for (const [field, name] of [
    ['traceId', 'trace_id'],
    ['spanId', 'span_id'],
  ] as const) {
    const id = record[field];
    const text = id instanceof Uint8Array ? Buffer.from(id).toString('hex') : id;
    if (text !== undefined && text !== '') ids[name] = text;
  }
  return ids;
}

/**
 * Nanoseconds since the epoch as an instant with microseconds; undefined for 0 and for no number.
 */
function instantOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^[1-9]\d{0,19}$/.test(text)) return undefined;
  const microseconds = BigInt(text) / 1000n;
  const second = Number(microseconds / 1_000_000n);
  if (second > 8.64e12) return undefined;
  const fraction = String(microseconds % 1_000_000n).padStart(6, '0');
  return `${isoInstant(second * 1000).slice(0, 19)}.${fraction}Z`;
}
