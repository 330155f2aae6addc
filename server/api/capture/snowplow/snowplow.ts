import { isUtf8 } from 'node:buffer';
import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { readTolerantJson } from '../../../engine/ingest/parse/tolerant_json.ts';
import type { Mended } from '../../../engine/ingest/parse/tolerant_json.ts';
import { withoutUndefined } from '../../../platform/fields.ts';
import { pixelAnswer } from '../protocol.ts';
import { shownKeys } from '../keys.ts';
import type { Decoded, Draft, Protocol, Sent } from '../protocol.ts';

/** The protocol of Snowplow's trackers; the write key is the app id. */
export const snowplow: Protocol = {
  name: 'snowplow',
  match: [
    {
      paths: ['/com.snowplowanalytics.snowplow/tp2/'],
      summary: 'Send events with a tracker of Snowplow',
      answers: ['text/plain'],
    },
    {
      paths: ['/i/'],
      methods: ['GET'],
      summary: "Send one event with a Snowplow tracker's pixel",
      answers: ['image/gif'],
    },
  ],
  decode: (body, sent) => {
    const list = sent.method === 'GET' ? [sent.query] : isJsonObject(body) ? body['data'] : body;
    return Array.isArray(list) ? decoded(list, sent) : undefined;
  },
  alone: (source) => ({ data: [source] }),
  answer: ({ method }) =>
    method === 'GET' ? pixelAnswer() : { type: 'text/plain; charset=utf-8', body: 'ok' },
  settings: [],
};

function decoded(list: unknown[], sent: Sent): Decoded {
  const payloads = list.map((one): JsonObject => (isJsonObject(one) ? one : {}));
  // If the key is elsewhere in the request, the app id is free for its own purpose.
  const isShown = shownKeys(sent).length > 0;
  return {
    length: payloads.length,
    // JSON in a field is parsed when its event is needed, and then released.
    events: payloads.values().map(draftOf),
    keys: isShown ? [] : payloads.map(({ aid }) => aid),
    sent_at: payloads[0]?.['stm'],
  };
}

/** Fields that the event itself contains, or that name the message. */
const told = ['eid', 'ue_pr', 'ue_px', 'co', 'cx', 'e', 'stm'];

/** Fields that name the person; trackers of some languages send unknown ones as empty texts. */
const who = ['uid', 'duid', 'nuid', 'tnuid'];

function draftOf(payload: JsonObject): Draft {
  const mended: Mended[] = [];
  const { name, properties } = contentOf(payload, mended);
  const contexts = jsonOf(payload['co'], payload['cx'], mended);
  const raw = Object.entries(payload).filter(
    ([field]) => !told.includes(field) || (contexts === undefined && /^c[ox]$/.test(field)),
  );
  return {
    name,
    distinct_id: who.map((field) => payload[field]).find((one) => one !== undefined && one !== ''),
    // A tracker may be configured to name nobody.
    distinct_id_otherwise: 'uuid',
    uuid: undefined,
    message_id: payload['eid'],
    at: payload['ttm'] ?? payload['dtm'],
    is_at_right: payload['ttm'] !== undefined,
    properties: {
      ...Object.fromEntries(raw),
      ...(isJsonObject(contexts) ? { contexts: contexts['data'] } : {}),
      ...properties,
    },
    mended,
    source: payload,
  };
}

type Content = { name: unknown; properties: JsonObject };

function contentOf(payload: JsonObject, mended: Mended[]): Content {
  switch (payload['e']) {
    case 'pv':
      return {
        name: '$pageview',
        properties: withoutUndefined({
          $current_url: payload['url'],
          $title: payload['page'],
          $referrer: payload['refr'],
        }),
      };
    case 'pp':
      return { name: 'page_ping', properties: withoutUndefined({ $current_url: payload['url'] }) };
    case 'se':
      return {
        name: 'structured_event',
        properties: withoutUndefined({
          category: payload['se_ca'],
          action: payload['se_ac'],
          label: payload['se_la'],
          property: payload['se_pr'],
          value: payload['se_va'],
        }),
      };
    case 'ue':
      return describedOf(payload, mended);
    case 'tr':
      return { name: 'transaction', properties: {} };
    case 'ti':
      return { name: 'transaction_item', properties: {} };
    default:
      return { name: payload['e'], properties: {} };
  }
}

/** `iglu:com.acme/basket_filled/jsonschema/1-0-0` is the event `basket_filled`. */
function describedOf(payload: JsonObject, mended: Mended[]): Content {
  const outer = jsonOf(payload['ue_pr'], payload['ue_px'], mended);
  const inner = isJsonObject(outer) ? outer['data'] : undefined;
  if (!isJsonObject(inner)) return { name: undefined, properties: {} };
  const { schema, data } = inner;
  const name = typeof schema === 'string' ? schema.split('/')[1] : undefined;
  return {
    name,
    properties: withoutUndefined({ $schema: schema, ...(isJsonObject(data) ? data : { data }) }),
  };
}

/**
 * Reads JSON in a field, as text or base64; undefined if it is none. Repaired parts are added to
 * the list.
 */
function jsonOf(text: unknown, packed: unknown, mended: Mended[]): unknown {
  const bytes =
    typeof text === 'string'
      ? Buffer.from(text)
      : typeof packed === 'string'
        ? Buffer.from(packed, 'base64')
        : undefined;
  if (bytes === undefined) return undefined;
  const read = readTolerantJson(bytes.toString(), isUtf8(bytes));
  if (read.fault !== undefined) return undefined;
  for (const one of read.mended?.values() ?? []) mended.push(...one);
  return read.value;
}
