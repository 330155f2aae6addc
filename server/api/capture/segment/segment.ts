import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { jsonAnswer, pixelAnswer } from '../answers.ts';
import type { Asked, Decoded, Protocol, Sent } from '../protocol.ts';
import { messageDraft } from './message.ts';

const types = ['track', 'page', 'screen', 'identify', 'group', 'alias'];
const letters = ['t', 'p', 's', 'i', 'g', 'a'];
const batches = ['batch', 'b', 'import'];

/** What the libraries of Segment send, and those of RudderStack and Jitsu that keep to its form. */
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
      summary: 'Send metrics of the library itself: they are taken and not kept',
      answer: () => jsonAnswer({ success: true }),
    },
  ],
};

/** The calls of a batch, or the one call that the message is. */
export function decodeMessages(body: unknown, sent: Sent): Decoded | undefined {
  if (!isJsonObject(body)) return undefined;
  const segments = sent.path.split('/').filter((part) => part !== '');
  const last = segments.at(-1)!;
  const { batch } = body;
  const list = batches.includes(last) || batch !== undefined ? batch : [body];
  if (!Array.isArray(list)) return undefined;
  const type = types[letters.indexOf(last)] ?? (types.includes(last) ? last : undefined);
  return {
    length: list.length,
    events: list
      .values()
      .map((message: unknown) => ({ ...messageDraft(message, type), source: message })),
    keys: [body['writeKey'], ...list.map(writeKeyOf)],
    sent_at: body['sentAt'] ?? sentAtOf(list) ?? sent.headers.sent_at,
  };
}

/** The body with one call of a message. */
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
