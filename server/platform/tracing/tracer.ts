import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { openOutbound } from '../outbound/outbound.ts';
import type { ProxySettings } from '../outbound/proxy.ts';
import { version } from '../version.ts';
import { otlpText } from './otlp.ts';
import { openSampler } from './sampler.ts';
import { Span, currentSpan, doAs, newId } from './span.ts';
import type { Attributes, SpanKind } from './span.ts';
import { collectorPlace, filePlace } from './span_places.ts';
import type { Collector } from './span_places.ts';
import { openSpanQueue } from './span_queue.ts';
import type { SpanQueue } from './span_queue.ts';
import type { RemoteParent } from './traceparent.ts';

/** The requests to trace and the receiver; without a collector and a file, nothing is traced. */
export type TracingOptions = {
  collector: Collector | undefined;
  file: string | undefined;
  sampler: string;
  sampler_ratio: number;
  /** Attributes of the whole process, `service.name` among them. */
  resource: Attributes;
};

type Beginning = { kind?: SpanKind; attributes?: Attributes; parent?: RemoteParent | undefined };

/** Starts traces, and exports their spans. */
export type Tracer = {
  /** Starts a span of its own trace, of the present span, or else of the remote one. */
  begin(name: string, beginning?: Beginning): Span;
  /** Runs the work as such a span, which ends with it. */
  during<Result>(
    name: string,
    attributes: Attributes,
    work: (span: Span) => Promise<Result>,
  ): Promise<Result>;
  /** Sends waiting spans, for three seconds at most. */
  close(): Promise<void>;
};

type TracerDeps = {
  clock: Clock;
  log: Logger;
  metrics: Pick<Metrics, 'spans'>;
  proxies?: ProxySettings;
};

const farewell_ms = 3_000;

/**
 * Opens the tracer of a process; undefined if traces are off. Guarantee: no work waits for a
 * collector or a file.
 */
export function openTracer(options: TracingOptions, deps: TracerDeps): Tracer | undefined {
  const { collector, file } = options;
  if (collector === undefined && file === undefined) return undefined;
  const { clock, log, metrics, proxies } = deps;
  const resource = {
    ...options.resource,
    'service.version': version,
    'service.instance.id': randomUUID(),
    'process.pid': process.pid,
    'telemetry.sdk.name': 'sluice',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.version': version,
  };
  // The operator names the collector, so every address is allowed.
  const outbound = openOutbound({
    allow: ['0.0.0.0/0', '::/0'],
    ...(proxies === undefined ? {} : { proxies }),
  });
  const places = [
    ...(collector === undefined ? [] : [collectorPlace(collector, outbound, log)]),
    ...(file === undefined ? [] : [filePlace(file, log)]),
  ];
  const queues: SpanQueue[] = places.map((place) =>
    openSpanQueue(
      (spans) => place(otlpText(resource, { name: 'sluice', version }, spans)),
      (outcome, count) => metrics.spans.inc({ outcome }, count),
    ),
  );
  const onEnd = (span: Span) => {
    for (const queue of queues) queue.add(span);
  };
  const isSampled = openSampler(options.sampler, options.sampler_ratio);
  const begin: Tracer['begin'] = (name, { kind = 1, attributes = {}, parent } = {}) => {
    const around = currentSpan();
    if (around !== undefined) return around.child(name, attributes, kind);
    const trace_id = parent?.trace_id ?? newId(16);
    const trace = {
      trace_id,
      is_sampled: isSampled(trace_id, parent),
      origin_ms: clock.now() - performance.now(),
      onEnd,
    };
    return new Span(trace, name, { parent_id: parent?.parent_id, kind, attributes });
  };
  return {
    begin,
    during: (name, attributes, work) => {
      const span = begin(name, { attributes });
      return doAs(span, () => work(span));
    },
    close: async () => {
      await Promise.all(queues.map((queue) => queue.close(farewell_ms)));
      await outbound.close();
    },
  };
}
