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
 * A client that sends events one by one, each with its own text `sent`. It resolves with true when
 * the client reports that the event was delivered, with false when it gave up.
 */
export type SendOne = (sent: string) => Promise<boolean>;
/** A client of an unchanged package, opened on a server. */
export type SendingClient = { name: string; open(address: string, key: string): SendOne };

/** Clients retry after this time, if they let a program set it. */
const retry_ms = 200;
/** The longest wait for a client that does not say when it is done. */
const wait_ms_max = 10_000;

type Callback = (error?: unknown) => void;

/**
 * A client that reports each event by its text, once the event was delivered or given up. An event
 * without a report is given up after a while, and a later report has no effect.
 */
function toldOf(open: (tell: Tell) => Sender): SendOne {
  const waiting = new Map<string, (is_delivered: boolean) => void>();
  const send = open((sent, error) => {
    for (const text of sent === undefined ? waiting.keys() : [sent])
      waiting.get(text)?.(error === undefined || error === null);
  });
  return async (sent) => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    waiting.set(sent, resolve);
    const timer = setTimeout(() => resolve(false), wait_ms_max);
    send(sent, (error) => resolve(error === undefined || error === null));
    const is_delivered = await promise;
    clearTimeout(timer);
    waiting.delete(sent);
    return is_delivered;
  };
}
type Sender = (sent: string, done: Callback) => void;
/** Reports one text, or without one all awaited texts. */
type Tell = (sent: string | undefined, error?: unknown) => void;

const calledBack = (send: Sender): SendOne => toldOf(() => send);

type PostHogClient = Pick<PostHog, 'capture' | 'on'>;

/** It keeps unsent events for the next time, and reports the sent ones. */
function posthogSender(client: PostHogClient): SendOne {
  return toldOf((tell) => {
    client.on('flush', (sent: { properties: { sent: string } }[]) => {
      for (const { properties } of sent) tell(properties.sent);
    });
    // One of its wire versions reports a batch as flushed after it reported that it gave it up.
    client.on('error', (error: unknown) => tell(undefined, error));
    return (sent) => {
      const uuid = randomUUID();
      client.capture({ distinctId: 'ada', event: 'kept', properties: { sent }, uuid });
    };
  });
}

const track = (sent: string) => ({
  userId: 'ada',
  event: 'kept',
  messageId: randomUUID(),
  properties: { sent },
});

/** Six kinds of clients, the first one in both of its wire versions. */
export const sending_clients: readonly SendingClient[] = [
  {
    name: 'posthog-node 5',
    open: (host, key) =>
      posthogSender(new PostHog(key, { host, flushAt: 1, fetchRetryDelay: retry_ms })),
  },
  {
    name: 'posthog-node 5, the wire version with results',
    open: (host, key) => {
      process.env['POSTHOG_CAPTURE_MODE'] = 'v1';
      const client = new PostHog(key, { host, flushAt: 1, fetchRetryDelay: retry_ms });
      delete process.env['POSTHOG_CAPTURE_MODE'];
      return posthogSender(client);
    },
  },
  {
    name: 'posthog-node 4',
    open: (host, key) =>
      posthogSender(new PostHog4(key, { host, flushAt: 1, fetchRetryDelay: retry_ms })),
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
      return calledBack((sent, done) => void client.track(track(sent), done));
    },
  },
  { name: '@snowplow/node-tracker', open: openSnowplow },
  { name: 'OpenTelemetry logs, JSON', open: openOpenTelemetry },
];

function openSnowplow(endpoint: string, appId: string): SendOne {
  return toldOf((tell) => {
    const texts = (batch: unknown) => JSON.stringify(batch).match(/[0-9a-f-]{36}/g) ?? [];
    const tracker = newTracker(
      { namespace: randomUUID(), appId, encodeBase64: false },
      {
        endpoint,
        bufferSize: 1,
        onRequestSuccess: (batch) => {
          for (const text of texts(batch)) tell(text);
        },
      },
    );
    tracker.setUserId('ada');
    const schema = 'iglu:com.acme/kept/jsonschema/1-0-0';
    return (sent) =>
      void tracker.track(buildSelfDescribingEvent({ event: { schema, data: { sent } } }));
  });
}

function openOpenTelemetry(address: string, key: string): SendOne {
  const exporter: LogRecordExporter = new OTLPLogExporter({
    url: `${address}/v1/logs`,
    headers: { authorization: `Bearer ${key}` },
  });
  return toldOf((tell) => {
    const told: LogRecordExporter = {
      export: (records, done) =>
        exporter.export(records, (result) => {
          done(result);
          const error = result.code === 0 ? undefined : (result.error ?? new Error('Given up.'));
          for (const { attributes } of records) tell(attributes['sent'] as string, error);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: () => Promise.resolve(),
    };
    const processors = [new SimpleLogRecordProcessor({ exporter: told })];
    const logger = new LoggerProvider({ processors }).getLogger('test');
    return (sent) => {
      const attributes = { 'user.id': 'ada', 'log.record.uid': randomUUID(), sent };
      logger.emit({ eventName: 'kept', attributes });
    };
  });
}
