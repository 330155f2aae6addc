import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { ApiError, unparsable } from '../../../platform/http/errors.ts';
import { jsonAnswer } from '../protocol.ts';
import type { Answer, Decoded, Draft, Outcome, Protocol, Sent } from '../protocol.ts';
import { plainAttributes } from './attributes.ts';
import { logDraft } from './log_record.ts';
import { decodeRequest, encodeAnswer } from './messages.ts';
import type { Signal } from './messages.ts';
import type { Shared } from './record.ts';
import { spanDraft } from './span.ts';

const protobuf_type = 'application/x-protobuf';
const types = ['application/json', protobuf_type];

/** Codes of google.rpc.Code by status. Exporters display them, but act on the status. */
const grpc_codes: Record<number, number> = { 400: 3, 401: 16, 413: 8, 503: 14 };

/**
 * The attributes of a resource are stored with each of its events; this limits their total in a
 * request.
 */
const shared_bytes_max = 256 * 1024 * 1024;

/** The name of each signal's items, and how to read them. */
const signals: Record<Signal, Form> = {
  Logs: {
    says: 'logs',
    list: 'resourceLogs',
    inside: ['scopeLogs', 'logRecords'],
    rejected: 'rejectedLogRecords',
    draftOf: logDraft,
  },
  Spans: {
    says: 'traces',
    list: 'resourceSpans',
    inside: ['scopeSpans', 'spans'],
    rejected: 'rejectedSpans',
    draftOf: spanDraft,
  },
};
type Form = {
  says: string;
  list: string;
  inside: readonly [string, string];
  rejected: string;
  draftOf(record: unknown, shared: Shared): Draft;
};

/**
 * Logs, events, and spans of language models in OpenTelemetry's form, as JSON or protobuf. The
 * answer has the form of the request.
 */
export const opentelemetry: Protocol = {
  name: 'opentelemetry',
  match: [
    {
      paths: ['/v1/logs/', '/i/v1/logs/', '/i/v0/ai/otel/v1/logs/'],
      summary: 'Send logs and events of OpenTelemetry',
      answers: types,
      refusals: types,
    },
    {
      // PostHog's exporters use the first path; exporters with a base address use the second.
      paths: ['/i/v0/ai/otel/', '/i/v0/ai/otel/v1/traces/'],
      summary: 'Send spans of language models with OpenTelemetry',
      answers: types,
      refusals: types,
    },
  ],
  parse: (bytes, sent) => {
    if (!isProtobuf(sent)) return undefined;
    const signal = signalOf(sent);
    try {
      return decodeRequest(bytes, signal);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      if (/max depth|call stack/.test((error as Error).message))
        throw unparsable('The body is nested too deeply.');
      const { says } = signals[signal];
      throw unparsable(`The body is not a protobuf message of OpenTelemetry ${says}.`);
    }
  },
  decode: (body, sent) => decode(body, signals[signalOf(sent)]),
  answer: (sent, outcome) => {
    const signal = signalOf(sent);
    return inForm(sent, `${signal}Answer`, partialSuccess(outcome, signals[signal]));
  },
  refuse: ({ status, violations }, sent) =>
    inForm(sent, 'Status', {
      code: grpc_codes[status] ?? grpc_codes[400],
      message: violations[0]!.detail,
    }),
  tells_each: () => true,
  settings: [],
};

function signalOf({ path }: Sent): Signal {
  return /\/logs\/?$/.test(path) ? 'Logs' : 'Spans';
}

/** Returns true if the request's header says that its body is protobuf. */
export function isProtobuf({ headers }: Sent): boolean {
  return headers.content_type?.toLowerCase().startsWith(protobuf_type) === true;
}

function inForm(
  sent: Sent,
  type: Parameters<typeof encodeAnswer>[0],
  value: Record<string, unknown>,
): Answer {
  return isProtobuf(sent)
    ? { type: protobuf_type, body: encodeAnswer(type, value) }
    : jsonAnswer(value);
}

function partialSuccess({ refused, verdicts }: Outcome, { rejected }: Form) {
  if (refused === 0) return {};
  const reasons = verdicts.flatMap(({ is_refused, warnings }) => (is_refused ? warnings : []));
  const errorMessage = [...new Set(reasons)].join(', ');
  return { partialSuccess: { [rejected]: String(refused), errorMessage } };
}

function decode(body: unknown, { list, inside, draftOf }: Form): Decoded | undefined {
  if (!isJsonObject(body)) return undefined;
  // A message may be empty, but one of another signal would silently be lost.
  const isOther = !Object.hasOwn(body, list) && Object.keys(body).length > 0;
  const lists = isOther ? undefined : (body[list] ?? []);
  if (!Array.isArray(lists)) return undefined;
  const [scopes, records] = inside;
  let shared_bytes = 0;
  const all = lists.filter(isJsonObject).flatMap((one) => {
    const resource = attributesOf(one['resource']);
    const found = listOf(one[scopes])
      .filter(isJsonObject)
      .flatMap((of_scope) => {
        const shared = { resource, scope: scopeOf(of_scope['scope']) };
        return listOf(of_scope[records]).map((record) => ({ record, shared }));
      });
    shared_bytes += found.length * JSON.stringify(resource).length;
    return found;
  });
  if (shared_bytes > shared_bytes_max)
    throw unparsable(
      'With the attributes of their resources, the records take more than 256 MiB: send ' +
        'fewer at a time.',
    );
  const events = all.values().map(({ record, shared }) => draftOf(record, shared));
  return { length: all.length, events, keys: [] };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function attributesOf(value: unknown): JsonObject {
  return isJsonObject(value) ? plainAttributes(value['attributes']) : {};
}

function scopeOf(value: unknown): JsonObject {
  if (!isJsonObject(value)) return {};
  const { name, version } = value;
  return { ...(name ? { name } : {}), ...(version ? { version } : {}) };
}
