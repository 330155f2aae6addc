import type { Attributes, Span } from './span.ts';

const failed_status = 2;

/** Returns the spans as one request of OTLP in its JSON form. */
export function otlpText(
  resource: Attributes,
  scope: { name: string; version: string },
  spans: Span[],
): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: otlpAttributes(resource) },
        scopeSpans: [{ scope, spans: spans.map(otlpSpan) }],
      },
    ],
  });
}

function otlpSpan(span: Span): Record<string, unknown> {
  const { trace, span_id, parent_id, name, kind, attributes, started_at, ended_at } = span;
  return {
    traceId: trace.trace_id,
    spanId: span_id,
    ...(parent_id === undefined ? {} : { parentSpanId: parent_id }),
    name,
    kind,
    startTimeUnixNano: nanoseconds(trace.origin_ms + started_at),
    endTimeUnixNano: nanoseconds(trace.origin_ms + (ended_at ?? started_at)),
    attributes: otlpAttributes(attributes),
    status: span.has_failed ? { code: failed_status } : {},
  };
}

/** A number holds whole microseconds exactly, but not today's nanoseconds. */
function nanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1000)}000`;
}

function otlpAttributes(attributes: Attributes): unknown[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(value) }));
}

function otlpValue(value: string | number | boolean): Record<string, unknown> {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
