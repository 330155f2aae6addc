import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { otlpText } from './otlp.ts';
import { Span, newId } from './span.ts';
import type { Attributes } from './span.ts';

type Serialized = Parameters<typeof JsonTraceSerializer.serializeRequest>[0];

/** Converts a span to the form of the official serializer. */
function readable(
  span: Span,
  resource: { attributes: Attributes },
  scope: { name: string; version: string },
) {
  const { trace, span_id, parent_id, name, kind, attributes, started_at, ended_at } = span;
  const at = (milliseconds: number) => {
    const micros = BigInt(Math.round((trace.origin_ms + milliseconds) * 1_000));
    return [Number(micros / 1_000_000n), Number(micros % 1_000_000n) * 1_000];
  };
  const context = { traceId: trace.trace_id, traceFlags: 1 };
  return {
    spanContext: () => ({ ...context, spanId: span_id }),
    ...(parent_id === undefined ? {} : { parentSpanContext: { ...context, spanId: parent_id } }),
    name,
    // The API begins at 0 where the protocol begins at 1.
    kind: kind - 1,
    startTime: at(started_at),
    endTime: at(ended_at!),
    attributes,
    status: { code: span.has_failed ? 2 : 0 },
    events: [],
    links: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    resource,
    instrumentationScope: scope,
  };
}

/** Fields that say the same as their absence: zeros, nothing, and flags of what may be unknown. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([key, one]) => key !== 'flags' && one !== 0 && !(Array.isArray(one) && one.length === 0),
  );
  // A number of 64 bits may be written as one, or as its digits.
  return Object.fromEntries(
    kept.map(([key, one]) => [key, key === 'intValue' ? String(one) : withoutDefaults(one)]),
  );
}

test('the collector gets the bytes of the official serializer', () => {
  const ended: Span[] = [];
  const trace = {
    trace_id: newId(16),
    is_sampled: true,
    origin_ms: 1_795_000_000_000.125,
    onEnd: (span: Span) => void ended.push(span),
  };
  const root = new Span(trace, 'GET /api/projects/:id/', {
    parent_id: newId(8),
    kind: 2,
    attributes: {
      'http.response.status_code': 503,
      'sluice.share': 0.25,
      'sluice.negative': -7,
      'sluice.large': Number.MAX_SAFE_INTEGER,
      'error.is_known': false,
      'http.route': 'ünïcode "quoted"\n',
    },
  });
  const part = root.child('PostgreSQL SELECT', { 'db.system.name': 'postgresql' }, 3);
  part.fail(Object.assign(new Error('secret'), { code: '57P01' }));
  part.end();
  root.end();
  const resource = { attributes: { 'service.name': 'sluice', 'process.pid': 42 } };
  const scope = { name: 'sluice', version: '0.1.0' };
  const official = JsonTraceSerializer.serializeRequest(
    ended.map((span) => readable(span, resource, scope)) as unknown as Serialized,
  );
  const wanted: unknown = JSON.parse(Buffer.from(official!).toString());
  const ours: unknown = JSON.parse(otlpText(resource.attributes, scope, ended));
  assert.equal(ended.length, 2);
  assert.deepEqual(withoutDefaults(ours), withoutDefaults(wanted));
});
