import { randomUUID } from 'node:crypto';
import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { PostHogSpanProcessor } from '@posthog/ai/otel';
import RudderAnalytics from '@rudderstack/rudder-sdk-node';
import { Analytics as SegmentAnalytics } from '@segment/analytics-node';
import { buildSelfDescribingEvent, buildStructEvent, newTracker } from '@snowplow/node-tracker';
// @ts-expect-error: the package has no types.
import OldSegmentAnalytics from 'analytics-node';
import { PostHog } from 'posthog-node';
import type { Fault } from './fault_proxy.ts';
import { PostHog as PostHog3 } from 'posthog-node-3';
import { PostHog as PostHog4 } from 'posthog-node-4';

/** A client of an unchanged package, and the events that its program believes it sent. */
export type NodeClient = {
  name: string;
  path: string;
  /** Sends all events to the server under the key, and returns once the client has. */
  send(address: string, key: string): Promise<void>;
  /** Sends each event with its name, its person, and its own property `sent`. */
  wanted: readonly (readonly [event: string, distinct_id: string, sent: unknown])[];
  /** The faults after which it does not retry the request, which it reports to its program. */
  gives_up_after?: readonly Fault[];
};

const given_uuid = '0190163d-8694-739b-aea5-966c26f8ad91';
const text = { sent: 'Zürich 😀 "quoted"' };

const posthog_events = [
  ['bought', 'ada', text.sent],
  ['given', 'ada', 2],
  ['$identify', 'ada', undefined],
  ['$create_alias', 'ada', undefined],
  ['$groupidentify', '$company_acme', undefined],
] as const;

type PostHogClient = Pick<PostHog, 'capture' | 'identify' | 'alias' | 'groupIdentify' | 'shutdown'>;

function usePostHog(client: PostHogClient): void {
  client.capture({ distinctId: 'ada', event: 'bought', properties: text });
  client.capture({ distinctId: 'ada', event: 'given', properties: { sent: 2 }, uuid: given_uuid });
  client.identify({ distinctId: 'ada', properties: { name: 'Ada' } });
  client.alias({ distinctId: 'ada', alias: 'visitor' });
  client.groupIdentify({ groupType: 'company', groupKey: 'acme', properties: { size: 3 } });
}

const segment_events = [
  ['bought', 'ada', text.sent],
  ['$identify', 'ada', undefined],
  ['$pageview', 'ada', 3],
  ['$groupidentify', 'ada', undefined],
  ['$create_alias', 'ada', undefined],
] as const;

const posthog: NodeClient[] = [
  {
    name: 'posthog-node 5',
    path: '/batch/',
    send: async (host, key) => {
      const client = new PostHog(key, { host });
      usePostHog(client);
      await client.captureImmediate({ distinctId: 'ada', event: 'at once', properties: text });
      await client.shutdown();
    },
    wanted: [...posthog_events, ['at once', 'ada', text.sent]],
  },
  {
    name: 'posthog-node 5, the wire version with results',
    path: '/i/v1/analytics/events',
    send: async (host, key) => {
      process.env['POSTHOG_CAPTURE_MODE'] = 'v1';
      const client = new PostHog(key, { host });
      delete process.env['POSTHOG_CAPTURE_MODE'];
      usePostHog(client);
      await client.shutdown();
    },
    wanted: posthog_events,
  },
  {
    name: 'posthog-node 4',
    path: '/batch/',
    send: async (host, key) => {
      const client = new PostHog4(key, { host });
      usePostHog(client);
      await client.shutdown();
    },
    wanted: posthog_events,
  },
  {
    name: 'posthog-node 3',
    path: '/batch/',
    send: async (host, key) => {
      const client = new PostHog3(key, { host });
      usePostHog(client as unknown as PostHogClient);
      await client.shutdownAsync();
    },
    wanted: posthog_events,
  },
];

const ignored = () => undefined;

/**
 * Waits until every call is delivered. These clients send the first at once, beside the flush of
 * the others, and report each one separately.
 */
async function everyCall(call: (done: () => () => void) => unknown): Promise<void> {
  const calls: Promise<void>[] = [];
  call(() => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    calls.push(promise);
    return (error?: Error | null) => (error ? reject(error) : resolve());
  });
  await Promise.all(calls);
}

function useOneByOne(client: RudderAnalytics): Promise<void> {
  return everyCall((done) => {
    client.track({ userId: 'ada', event: 'bought', properties: text }, done());
    client.identify({ userId: 'ada', anonymousId: 'visitor', traits: { name: 'Ada' } }, done());
    client.page({ userId: 'ada', name: 'Home', properties: { sent: 3 } }, done());
    client.group({ userId: 'ada', groupId: 'acme', traits: { size: 3 } }, done());
    client.alias({ userId: 'ada', previousId: 'visitor' }, done());
    return client.flush();
  });
}

const segment: NodeClient[] = [
  {
    name: '@segment/analytics-node',
    path: '/v1/batch',
    send: async (host, writeKey) => {
      const client = new SegmentAnalytics({ writeKey, host });
      client.track({ userId: 'ada', event: 'bought', properties: text });
      client.identify({ userId: 'ada', anonymousId: 'visitor', traits: { name: 'Ada' } });
      client.page({ userId: 'ada', name: 'Home', properties: { sent: 3 } });
      client.group({ userId: 'ada', groupId: 'acme', traits: { size: 3 } });
      client.alias({ userId: 'ada', previousId: 'visitor' });
      await client.closeAndFlush();
    },
    wanted: segment_events,
  },
  {
    name: 'analytics-node',
    path: '/v1/batch',
    send: async (host, writeKey) => {
      const client = new OldSegmentAnalytics(writeKey, { host, errorHandler: ignored });
      await useOneByOne(client);
    },
    wanted: segment_events,
  },
  {
    name: '@rudderstack/rudder-sdk-node',
    path: '/v1/batch',
    send: async (dataPlaneUrl, writeKey) => {
      const options = { dataPlaneUrl, errorHandler: ignored };
      const client = new RudderAnalytics(writeKey, options);
      await useOneByOne(client);
    },
    wanted: segment_events,
  },
];

const snowplow: NodeClient = {
  name: '@snowplow/node-tracker',
  // It keeps failed events for the next event.
  gives_up_after: ['cut before', 'cut within', '503'],
  path: '/com.snowplowanalytics.snowplow/tp2',
  send: async (endpoint, appId) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let left = 2;
    const tracker = newTracker(
      { namespace: 'n', appId, encodeBase64: true },
      {
        endpoint,
        bufferSize: 1,
        onRequestSuccess: (batch) => {
          left -= batch.length;
          if (left === 0) resolve();
        },
        onRequestFailure: ({ willRetry }) => {
          if (!willRetry) reject(new Error('The tracker could not send.'));
        },
      },
    );
    tracker.setUserId('ada');
    tracker.track(
      buildSelfDescribingEvent({
        event: { schema: 'iglu:com.acme/bought/jsonschema/1-0-0', data: text },
      }),
    );
    tracker.track(buildStructEvent({ category: 'shop', action: 'add' }));
    await promise;
  },
  wanted: [
    ['bought', 'ada', text.sent],
    ['structured_event', 'ada', undefined],
  ],
};

/** Returns the person, and the id by which a record is stored once, however often it is sent. */
const named = () => ({ 'user.id': 'ada', 'log.record.uid': randomUUID() });

const opentelemetry: NodeClient[] = [
  ['JSON', JsonExporter] as const,
  ['protobuf', ProtobufExporter] as const,
].map(([form, Exporter]) => ({
  name: `OpenTelemetry logs, ${form}`,
  path: '/v1/logs',
  send: async (address, key) => {
    const exporter = new Exporter({
      url: `${address}/v1/logs`,
      headers: { authorization: `Bearer ${key}` },
    });
    const provider = new LoggerProvider({
      processors: [new SimpleLogRecordProcessor({ exporter })],
    });
    const logger = provider.getLogger('test');
    logger.emit({ eventName: 'bought', attributes: { ...named(), ...text } });
    logger.emit({ body: { deep: [1, 2.5, true] }, attributes: { ...named(), sent: 2 } });
    await provider.shutdown();
  },
  wanted: [
    ['bought', 'ada', text.sent],
    ['log', 'ada', 2],
  ],
}));

const spans_path = '/i/v0/ai/otel';

const spans: NodeClient[] = [
  [
    '@posthog/ai/otel',
    (host: string, projectToken: string) => new PostHogSpanProcessor({ host, projectToken }),
  ] as const,
  [
    'OpenTelemetry spans, protobuf',
    (host: string, key: string) =>
      new SimpleSpanProcessor(
        new OTLPTraceExporter({
          url: `${host}${spans_path}`,
          headers: { authorization: `Bearer ${key}` },
        }),
      ),
  ] as const,
].map(([name, processorOf]) => ({
  name,
  path: spans_path,
  send: async (address, key) => {
    const provider = new BasicTracerProvider({ spanProcessors: [processorOf(address, key)] });
    const tracer = provider.getTracer('shop', '1.2');
    for (const operation of ['chat', 'embeddings'])
      tracer
        .startSpan(`${operation} model`, {
          attributes: { 'gen_ai.operation.name': operation, 'user.id': 'ada', ...text },
        })
        .end();
    tracer.startSpan('GET /').end();
    await provider.shutdown();
  },
  wanted: [
    ['$ai_generation', 'ada', text.sent],
    ['$ai_embedding', 'ada', text.sent],
  ],
}));

/** The clients that run in Node, unchanged. */
export const node_clients: readonly NodeClient[] = [
  ...posthog,
  ...segment,
  snowplow,
  ...opentelemetry,
  ...spans,
];
