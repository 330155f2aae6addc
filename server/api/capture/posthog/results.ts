import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { ApiError } from '../../../platform/http/errors.ts';
import { ai_event_size_bytes_max, jsonAnswer } from '../protocol.ts';
import type { Answer, Decoded, Draft, Outcome, Sent, Verdict } from '../protocol.ts';

/** Returns the largest event size, if the path defines one. */
export function sizeMaxOf({ path }: Sent): number | undefined {
  return path.includes('/ai/') ? ai_event_size_bytes_max : undefined;
}

/** Reads the events of the wire version that reports the result of each. */
export function decodeResults(body: unknown, sent: Sent): Decoded | undefined {
  const batch = isJsonObject(body) ? body['batch'] : undefined;
  if (!isJsonObject(body) || !Array.isArray(batch)) return undefined;
  return {
    length: batch.length,
    events: batch.values().map((event: unknown) => draftOf(event, sent)),
    keys: [],
    sent_at: sent.headers.sent_at ?? body['created_at'],
  };
}

function draftOf(value: unknown, sent: Sent): Draft {
  const event: JsonObject = isJsonObject(value) ? value : {};
  const options: JsonObject = isJsonObject(event['options']) ? event['options'] : {};
  return {
    name: event['event'],
    distinct_id: event['distinct_id'],
    uuid: event['uuid'],
    at: event['timestamp'],
    is_at_right: options['disable_skew_correction'] === true,
    size_bytes_max: sizeMaxOf(sent),
    properties: withLifted(event, options, sent),
    source: value,
  };
}

/** The client moved these out of the properties; they return under their former names. */
const lifted = [
  ['event', 'session_id', '$session_id'],
  ['event', 'window_id', '$window_id'],
  ['options', 'disable_skew_correction', '$ignore_sent_at'],
  ['options', 'process_person_profile', '$process_person_profile'],
  ['options', 'cookieless_mode', '$cookieless_mode'],
  ['options', 'product_tour_id', '$product_tour_id'],
] as const;

function withLifted(event: JsonObject, options: JsonObject, sent: Sent): unknown {
  const { properties = {} } = event;
  if (!isJsonObject(properties)) return properties;
  const back = lifted.flatMap(([from, name, property]) => {
    const value = (from === 'event' ? event : options)[name];
    return value === undefined || value === null ? [] : [[property, value] as const];
  });
  return { ...Object.fromEntries(back), ...properties, ...libraryOf(sent) };
}

/**
 * Returns the library, which the client sends once in a header; PostHog's server adds it to each
 * event too.
 */
function libraryOf({ headers }: Sent): JsonObject {
  const [, $lib, $lib_version] = /^([^/]+)\/(.+)$/.exec(headers.sdk_info ?? '') ?? [];
  return $lib === undefined ? {} : { $lib, $lib_version };
}

/** Returns the verdict on each event, by its uuid. */
export function resultsAnswer({ verdicts }: Outcome, sent: Sent): Answer {
  const results = Object.fromEntries(
    verdicts.flatMap((verdict) =>
      verdict.uuid === undefined ? [] : [[verdict.uuid, resultOf(verdict)] as const],
    ),
  );
  return jsonAnswer({ results }, echoOf(sent));
}

function resultOf({ is_refused, warnings }: Verdict) {
  if (warnings.length === 0) return { result: 'ok' };
  return { result: is_refused ? 'drop' : 'warning', details: warnings.join(', ') };
}

/** Returns an error in the form that these clients read. */
export function resultsRefusal(error: ApiError, sent: Sent): Answer {
  const { code, detail } = error.violations[0]!;
  return jsonAnswer({ error: code, error_description: detail, error_uri: null }, echoOf(sent));
}

function echoOf({ headers }: Sent): Record<string, string> {
  return headers.request_id === undefined ? {} : { 'posthog-request-id': headers.request_id };
}
