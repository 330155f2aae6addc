import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { withoutUndefined } from '../../../platform/fields.ts';
import { ai_event_size_bytes_max } from '../protocol.ts';
import type { Draft } from '../protocol.ts';
import { aiEventName, aiProperties } from './ai_properties.ts';
import { plainAttributes } from './attributes.ts';
import { firstOf, id_names, idText, instantOf, nanosecondsOf } from './record.ts';
import type { Shared } from './record.ts';

/**
 * Attributes that name the person; those on the span precede those on the resource, and the first
 * one counts.
 */
const who_of_span = [
  'ai.telemetry.metadata.posthog_distinct_id',
  'ai.settings.context.posthog_distinct_id',
  'posthog.distinct_id',
  'user.id',
  'enduser.id',
];
const who_of_resource = ['posthog.distinct_id', 'user.id'];

/**
 * Prefixes of the span name or of an attribute by which a span of a language model is recognised.
 */
const ai_prefixes = ['gen_ai.', 'ai.', 'llm.', 'traceloop.', 'openinference.', 'pydantic_ai.'];
/** Attributes of a resource that only describe the machine and the process. */
const machine_prefixes = ['host.', 'process.', 'os.', 'telemetry.'];
/** OpenTelemetry's number for a span that failed. */
const status_error = 2;

type Span = {
  name: string;
  attributes: JsonObject;
  events: SpanEvent[];
  parent_id: unknown;
  error: JsonObject | undefined;
};
type SpanEvent = { name: unknown; attributes: JsonObject; at: string | undefined };

/**
 * Returns PostHog's event for a span of a language model: a generation, an embedding, a trace or
 * another span. A span without any sign of a model is refused as `feature_off`. Attributes without
 * a PostHog name keep their names.
 */
export function spanDraft(value: unknown, { resource, scope }: Shared): Draft {
  if (!isJsonObject(value)) return { name: undefined, distinct_id: undefined, properties: {} };
  const span = spanOf(value);
  const [trace_id, span_id] = [idText(value['traceId']), idText(value['spanId'])];
  const { events, properties } = aiProperties(span.attributes, span.events);
  const who = firstOf(span.attributes, who_of_span) ?? firstOf(resource, who_of_resource);
  return {
    ...(isOfModel(span)
      ? { name: aiEventName(span.attributes, span.parent_id !== undefined) }
      : { name: span.name, refused_as: 'feature_off' }),
    distinct_id: who ?? properties['$ai_session_id'] ?? trace_id,
    distinct_id_otherwise: 'uuid',
    // A repeated span keeps its id; an id of zeros counts as missing.
    message_id: firstOf(span.attributes, id_names) ?? idOf(trace_id, span_id),
    at: instantOf(value['startTimeUnixNano']),
    // No time of sending exists, and server clocks are right.
    is_at_right: true,
    size_bytes_max: ai_event_size_bytes_max,
    properties: {
      ...withoutMachine(resource),
      $lib: 'posthog-otel',
      ...(scope['version'] === undefined ? {} : { $lib_version: scope['version'] }),
      ...(Object.keys(scope).length === 0 ? {} : { scope }),
      ...(events.length === 0 ? {} : { span_events: events }),
      ...withoutUndefined({
        $ai_trace_id: trace_id,
        $ai_span_id: span_id,
        $ai_parent_id: span.parent_id,
        $ai_span_name: span.name === '' ? undefined : span.name,
        $ai_latency: secondsOf(value),
        $process_person_profile: who === undefined ? false : undefined,
      }),
      $ai_ingestion_source: 'otel',
      ...span.error,
      ...properties,
    },
  };
}

function spanOf(value: JsonObject): Span {
  const name = typeof value['name'] === 'string' ? value['name'] : '';
  const attributes = plainAttributes(value['attributes']);
  const list = Array.isArray(value['events']) ? value['events'].filter(isJsonObject) : [];
  const events = list.map((one) => ({
    name: one['name'],
    attributes: plainAttributes(one['attributes']),
    at: instantOf(one['timeUnixNano']),
  }));
  const parent = idText(value['parentSpanId']);
  const parent_id = isId(parent) ? parent : undefined;
  return { name, attributes, events, parent_id, error: errorOf(value['status'], events) };
}

function isOfModel({ name, attributes }: Span): boolean {
  return [name, ...Object.keys(attributes)].some((one) =>
    ai_prefixes.some((prefix) => one.startsWith(prefix)),
  );
}

function idOf(trace_id: unknown, span_id: unknown): string | undefined {
  return isId(trace_id) && isId(span_id) ? `${trace_id}:${span_id}` : undefined;
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && /[^0]/.test(id);
}

function withoutMachine(resource: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(resource).filter(
      ([name]) => !machine_prefixes.some((prefix) => name.startsWith(prefix)),
    ),
  );
}

function secondsOf(value: JsonObject): number | undefined {
  const [start, end] = [
    nanosecondsOf(value['startTimeUnixNano']),
    nanosecondsOf(value['endTimeUnixNano']),
  ];
  return start === undefined || end === undefined || end < start
    ? undefined
    : Number(end - start) / 1e9;
}

/** Describes the failure of a span, by its last exception if there is one. */
function errorOf(status: unknown, events: SpanEvent[]): JsonObject | undefined {
  if (!isJsonObject(status)) return undefined;
  const { code, message } = status;
  if (code !== status_error && code !== 'STATUS_CODE_ERROR') return undefined;
  const exception = events.findLast(({ name }) => name === 'exception')?.attributes ?? {};
  const said = ['exception.type', 'exception.message']
    .map((name) => exception[name])
    .filter((text) => typeof text === 'string' && text !== '');
  const text = said.length > 0 ? said.join(': ') : message;
  return { $ai_is_error: true, ...(text ? { $ai_error: text } : {}) };
}
