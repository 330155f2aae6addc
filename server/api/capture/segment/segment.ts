import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { unparsable } from '../../../platform/http/errors.ts';
import { jsonAnswer, pixelAnswer } from '../protocol.ts';
import type { Asked, Decoded, Protocol, Sent } from '../protocol.ts';
import { messageDraft } from './message.ts';

const types = ['track', 'page', 'screen', 'identify', 'group', 'alias'];
const letters = ['t', 'p', 's', 'i', 'g', 'a'];
const batches = ['batch', 'b', 'import'];
/** The context of a batch is stored with each call; this limits its total. */
const shared_bytes_max = 256 * 1024 * 1024;

/**
 * The protocol of Segment's libraries, and of libraries of RudderStack and Jitsu with the same
 * form.
 */
export const segment: Protocol = {
  name: 'segment',
  match: [
    {
      paths: ['/v1/batch/', '/v1/b/', '/v1/import/', '/batch/', '/b/'],
      summary: 'Send a batch of calls with a library of Segment, RudderStack or Jitsu',
    },
    {
      paths: [...types, ...letters].map((type) => `/v1/${type}/`),
      summary: 'Send one call with a library of Segment or RudderStack',
    },
    {
      paths: types.map((type) => `/v1/pixel/${type}/`),
      methods: ['GET'],
      answers: ['image/gif'],
      summary: 'Send one call with the address of a picture',
    },
  ],
  decode: decodeMessages,
  alone: messageAlone,
  answer: ({ method }) => (method === 'GET' ? pixelAnswer() : jsonAnswer({ success: true })),
  settings: [
    {
      paths: ['/v1/projects/:key/settings'],
      summary: "Read the settings of Segment's library",
      key: true,
      answer: settings,
    },
    {
      paths: ['/v1/m/'],
      methods: ['POST'],
      summary: 'Send metrics of the library itself: they are accepted and not stored',
      answer: () => jsonAnswer({ success: true }),
    },
  ],
};

/** Returns the calls of a batch, or the message as one call. */
export function decodeMessages(body: unknown, sent: Sent): Decoded | undefined {
  if (!isJsonObject(body)) return undefined;
  const segments = sent.path.split('/').filter((part) => part !== '');
  const last = segments.at(-1)!;
  const { batch } = body;
  const list = batches.includes(last) || batch !== undefined ? batch : [body];
  if (!Array.isArray(list)) return undefined;
  const type = types[letters.indexOf(last)] ?? (types.includes(last) ? last : undefined);
  const context = list === batch ? contextOf(body, list.length) : undefined;
  return {
    length: list.length,
    events: list.values().map((message: unknown) => {
      const source = withContext(message, context);
      return { ...messageDraft(source, type), source };
    }),
    keys: [body['writeKey'], ...list.map(writeKeyOf)],
    sent_at: body['sentAt'] ?? sentAtOf(list) ?? sent.headers.sent_at,
  };
}

/** Returns the context for all calls of a batch; clients in Go name their library there. */
function contextOf({ context }: JsonObject, calls: number): JsonObject | undefined {
  if (!isJsonObject(context) || Object.keys(context).length === 0) return undefined;
  if (JSON.stringify(context).length * calls > shared_bytes_max)
    throw unparsable(
      'With the context of their batch the calls take more than 256 MiB: send fewer at a time.',
    );
  return context;
}

/** Returns a call merged with the context of its batch; its own context takes precedence. */
function withContext(message: unknown, context: JsonObject | undefined): unknown {
  if (context === undefined || !isJsonObject(message)) return message;
  const own = message['context'] ?? {};
  return isJsonObject(own) ? { ...message, context: { ...context, ...own } } : message;
}

/** Returns a body with one call of a message. */
export function messageAlone(source: unknown, sentAt: unknown): unknown {
  return { batch: [source], sentAt };
}

function writeKeyOf(message: unknown): unknown {
  return isJsonObject(message) ? message['writeKey'] : undefined;
}

function sentAtOf(list: unknown[]): unknown {
  const [first] = list;
  return isJsonObject(first) ? first['sentAt'] : undefined;
}

function settings({ key, scheme, host }: Asked) {
  return jsonAnswer({
    integrations: {
      'Segment.io': {
        apiKey: key,
        apiHost: `${host}/v1`,
        protocol: scheme,
        unbundledIntegrations: [],
        addBundledMetadata: true,
        versionSettings: { version: '4.4.7', componentTypes: ['browser'] },
      },
    },
    plan: { track: { __default: { enabled: true, integrations: {} } } },
    edgeFunction: {},
    analyticsNextEnabled: true,
    middlewareSettings: {},
    enabledMiddleware: {},
    metrics: { sampleRate: 0 },
    legacyVideoPluginsEnabled: false,
    remotePlugins: [],
  });
}
