import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { Draft } from '../protocol.ts';
import { plainAttributes, plainValue } from './attributes.ts';
import { firstOf, id_names, idText, instantOf } from './record.ts';
import type { Shared } from './record.ts';

/**
 * Attributes that name the person; those on the record precede those on the resource, and the first
 * one counts.
 */
const who_of_record = ['distinct_id', 'posthogDistinctId', 'user.id', 'enduser.id', 'session.id'];
const who_of_resource = ['user.id', 'service.instance.id', 'host.id', 'host.name', 'service.name'];

/** Returns the event of a log record: named by the record's `eventName`, or `log`. */
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
    // No time of sending exists, and server clocks are right.
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

function idsOf({ traceId, spanId }: JsonObject): JsonObject {
  const [trace_id, span_id] = [idText(traceId), idText(spanId)];
  return {
    ...(trace_id === undefined ? {} : { trace_id }),
    ...(span_id === undefined ? {} : { span_id }),
  };
}
