import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { isWriteKey } from '../../../platform/http/caller/write_key.ts';
import { jsonAnswer, pixelAnswer } from '../protocol.ts';
import { shownKeys } from '../keys.ts';
import type { Decoded, Draft, Protocol, Sent } from '../protocol.ts';
import { readNumber } from '../read/times.ts';
import { posthogSettings } from './settings.ts';
import { decodeResults, resultsAnswer, resultsRefusal, sizeMaxOf } from './results.ts';

const events_paths = ['e', 'i/v0/e', 'batch', 'capture', 'track', 'engage', 'i/v0/ai/batch'];

/** The protocol of PostHog's clients: single events, lists and batches, in every wire version. */
export const posthog: Protocol = {
  name: 'posthog',
  match: [
    {
      paths: events_paths.map((path) => `/${path}/`),
      methods: ['POST', 'GET'],
      summary: 'Send events with a client of PostHog',
      answers: ['application/json', 'image/gif'],
    },
    {
      paths: ['/i/v1/analytics/events/', '/i/v1/ai/events/'],
      summary: 'Send events with a client of PostHog, and get the result of each',
      refusals: ['application/json'],
    },
  ],
  // A library with Segment's form may be configured to use the same path.
  recognises: (body) => !isJsonObject(body) || body['writeKey'] === undefined,
  decode: (body, sent) => (isWithResults(sent) ? decodeResults(body, sent) : decode(body, sent)),
  alone: (source, sent_at, sent) =>
    isWithResults(sent) ? { batch: [source], created_at: sent_at } : { batch: [source], sent_at },
  answer: (sent, outcome) => {
    if (isWithResults(sent)) return resultsAnswer(outcome, sent);
    return sent.method === 'GET' && sent.query['img'] !== undefined
      ? pixelAnswer()
      : jsonAnswer({ status: 1 });
  },
  refuse: (error, sent) => (isWithResults(sent) ? resultsRefusal(error, sent) : undefined),
  tells_each: isWithResults,
  settings: posthogSettings,
};

function isWithResults({ path }: Sent): boolean {
  return path.startsWith('/i/v1/');
}

function decode(body: unknown, sent: Sent): Decoded | undefined {
  const envelope = isJsonObject(body) ? body : {};
  const list = Array.isArray(body) ? body : (envelope['batch'] ?? [body]);
  if (!Array.isArray(list)) return undefined;
  const isList = list !== undefined && (Array.isArray(body) || envelope['batch'] !== undefined);
  if (!isList && !isJsonObject(body)) return undefined;
  return {
    length: list.length,
    events: list.values().map((event: unknown) => draftOf(event, sent)),
    keys: keysOf([envelope, ...list], sent),
    // posthog-python spells it so.
    sent_at: envelope['sent_at'] ?? envelope['sentAt'] ?? sent.query['_'],
  };
}

/**
 * An event may contain the key of its project; without an envelope it must. A property `token`
 * belongs to the application if it is no write key and the request has one elsewhere.
 */
function keysOf(values: unknown[], sent: Sent): unknown[] {
  const keys: unknown[] = [];
  const tokens: unknown[] = [];
  for (const value of values) {
    if (!isJsonObject(value)) continue;
    const { api_key, token, $token, properties } = value;
    for (const key of [api_key, token, $token]) if (key !== undefined) keys.push(key);
    if (isJsonObject(properties)) tokens.push(properties['token']);
  }
  keys.push(...tokens.filter((token) => typeof token === 'string' && isWriteKey(token)));
  return keys.length > 0 || shownKeys(sent).length > 0 ? keys : tokens;
}

function draftOf(value: unknown, sent: Sent): Draft {
  const event: JsonObject = isJsonObject(value) ? value : {};
  const properties: JsonObject = isJsonObject(event['properties']) ? event['properties'] : {};
  return {
    // Only `engage` of old libraries has no name; it sets properties of a person.
    name: event['event'] ?? (sent.path.startsWith('/engage') ? '$identify' : undefined),
    distinct_id:
      event['distinct_id'] ??
      event['$distinct_id'] ??
      properties['distinct_id'] ??
      properties['$distinct_id'],
    uuid: event['uuid'],
    size_bytes_max: sizeMaxOf(sent),
    // The only id that posthog-ruby sends.
    message_id: event['messageId'],
    at: event['timestamp'] ?? ownTime(event, properties, sent),
    offset_ms: event['offset'],
    is_at_right: properties['$ignore_sent_at'] === true,
    properties: event['properties'],
    set: event['$set'],
    set_once: event['$set_once'],
    unset: event['$unset'],
    source: value,
  };
}

/**
 * Returns when an event happened by the sender's clock, if the sender gives the age of the event.
 * Clients compute the age once, and repeat it minutes later in a retry. Undefined if the error of
 * that clock is unknown, or if the page set the event's time.
 */
function ownTime(event: JsonObject, properties: JsonObject, sent: Sent): number | undefined {
  const isMoved = properties['$event_time_override_provided'] === true;
  if (event['offset'] === undefined || isMoved || sent.query['_'] === undefined) return undefined;
  return readNumber(properties['$time']);
}
