import { randomUUID } from 'node:crypto';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import type { LogRecordExporter } from '@opentelemetry/sdk-logs';
import RudderAnalytics from '@rudderstack/rudder-sdk-node';
import { Analytics as SegmentAnalytics } from '@segment/analytics-node';
import { buildSelfDescribingEvent, newTracker } from '@snowplow/node-tracker';
// @ts-expect-error: the package has no types.
import OldSegmentAnalytics from 'analytics-node';
import { PostHog } from 'posthog-node';
import { PostHog as PostHog4 } from 'posthog-node-4';

/**
 * A client that sends events one by one, each with a text `sent` of its own: resolves with true
 * when the client says that the event was delivered, with false when it gave up.
 */
export type SendOne = (sent: string) => Promise<boolean>;
/** A client of a package as it is, opened on a server. */
export type SendingClient = { name: string; open(address: string, key: string): SendOne };

/** Clients try again after this, where they let a program say so. */
const retry_ms = 200;
/** What a client never tells the end of counts as given up after this. */
const patience_ms = 60_000;

type PostHogClient = Pick<PostHog, 'capture' | 'flush'>;

function posthogSender(client: PostHogClient): SendOne {
  return async (sent) => {
    client.capture({ distinctId: 'ada', event: 'kept', properties: { sent }, uuid: randomUUID() });
    return client.flush().then(
      () => true,
      () => false,
    );
  };
}

type Callback = (error?: unknown) => void;

/** A client that calls back once an event was delivered or given up. */
function calledBack(send: (sent: string, done: Callback) => void): SendOne {
  return (sent) =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), patience_ms);
      send(sent, (error) => {
        clearTimeout(timer);
        resolve(error === undefined || error === null);
      });
    });
}

const track = (sent: string) => ({
  userId: 'ada',
  event: 'kept',
  messageId: randomUUID(),
  properties: { sent },
});

/** Six kinds of clients, the first in both of its wire versions. */
export const sending_clients: readonly SendingClient[] = [
  {
    name: 'posthog-node 5',
    open: (host, key) =>
      posthogSender(new PostHog(key, { host, flushAt: 1_000, fetchRetryDelay: retry_ms })),
  },
  {
    name: 'posthog-node 5, the wire version with results',
    open: (host, key) => {
      process.env['POSTHOG_CAPTURE_MODE'] = 'v1';
      const client = new PostHog(key, { host, flushAt: 1_000, fetchRetryDelay: retry_ms });
      delete process.env['POSTHOG_CAPTURE_MODE'];
      return posthogSender(client);
    },
  },
  {
    name: 'posthog-node 4',
    open: (host, key) =>
      posthogSender(
        new PostHog4(key, { host, flushAt: 1_000, fetchRetryDelay: retry_ms }) as never,
      ),
  },
  {
    name: '@segment/analytics-node',
    open: (host, writeKey) => {
      const client = new SegmentAnalytics({ writeKey, host, flushAt: 1 });
      client.on('error', () => undefined);
      return calledBack((sent, done) => client.track(track(sent), done));
    },
  },
  {
    name: 'analytics-node',
    open: (host, writeKey) => {
      const client = new OldSegmentAnalytics(writeKey, {
        host,
        flushAt: 1,
        errorHandler: () => undefined,
      });
      return calledBack((sent, done) => client.track(track(sent), done));
    },
  },
  {
    name: '@rudderstack/rudder-sdk-node',
    open: (dataPlaneUrl, writeKey) => {
      const client = new RudderAnalytics(writeKey, {
        dataPlaneUrl,
        flushAt: 1,
        errorHandler: () => undefined,
      });
      return calledBack((sent, done) => void client.track(track(sent), done as never));
    },
  },
  { name: '@snowplow/node-tracker', open: openSnowplow },
  { name: 'OpenTelemetry logs, JSON', open: openOpenTelemetry },
];

function openSnowplow(endpoint: string, appId: string): SendOne {
  let tell: Callback = () => undefined;
  const tracker = newTracker(
    { namespace: randomUUID(), appId, encodeBase64: false },
    {
      endpoint,
      bufferSize: 1,
      onRequestSuccess: () => tell(),
      onRequestFailure: ({ willRetry }) => {
        if (!willRetry) tell(new Error('The tracker gave up.'));
      },
    },
  );
  tracker.setUserId('ada');
  return calledBack((sent, done) => {
    tell = done;
    tracker.track(
      buildSelfDescribingEvent({
        event: { schema: 'iglu:com.acme/kept/jsonschema/1-0-0', data: { sent } },
      }),
    );
  });
}

function openOpenTelemetry(address: string, key: string): SendOne {
  const exporter: LogRecordExporter = new OTLPLogExporter({
    url: `${address}/v1/logs`,
    headers: { authorization: `Bearer ${key}` },
  });
  let tell: Callback = () => undefined;
  const told: LogRecordExporter = {
    export: (records, done) =>
      exporter.export(records, (result) => {
        done(result);
        tell(result.code === 0 ? undefined : (result.error ?? new Error('The exporter gave up.')));
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => Promise.resolve(),
  };
  const provider = new LoggerProvider({
    processors: [new SimpleLogRecordProcessor({ exporter: told })],
  });
  const logger = provider.getLogger('test');
  return calledBack((sent, done) => {
    tell = done;
    logger.emit({
      eventName: 'kept',
      attributes: { 'user.id': 'ada', 'log.record.uid': randomUUID(), sent },
    });
  });
}
