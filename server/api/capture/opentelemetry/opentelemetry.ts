import { isJsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { unparsable } from '../../../platform/http/errors.ts';
import { jsonAnswer } from '../answers.ts';
import type { Answer, Decoded, Outcome, Protocol, Sent } from '../protocol.ts';
import { logDraft } from './log_record.ts';
import { plainAttributes } from './attributes.ts';
import { decodeRequest, encodeAnswer } from './messages.ts';

const protobuf_type = 'application/x-protobuf';

/**
 * Logs and events in the form of OpenTelemetry, as JSON or protobuf; the answer has that form too.
 */
export const opentelemetry: Protocol = {
  name: 'opentelemetry',
  match: [
    {
      paths: ['/v1/logs/', '/i/v1/logs/'],
      summary: 'Send logs and events of OpenTelemetry',
      answers: ['application/json', protobuf_type],
      refusals: ['application/json', protobuf_type],
    },
  ],
  parse: (bytes, sent) => {
    if (!isProtobuf(sent)) return undefined;
    try {
      return decodeRequest(bytes);
    } catch (error) {
      if (/max depth|call stack/.test((error as Error).message))
        throw unparsable('The body is nested too deeply.');
      throw unparsable('The body is not a protobuf message of OpenTelemetry logs.');
    }
  },
  decode,
  answer: (sent, outcome) => inForm(sent, 'Response', partialSuccess(outcome)),
  refuse: ({ violations }, sent) =>
    // 3 is INVALID_ARGUMENT; clients look at the status and show the message.
    inForm(sent, 'Status', { code: 3, message: violations[0]!.detail }),
  tells_each: () => true,
  settings: [],
};

function isProtobuf({ headers }: Sent): boolean {
  return headers.content_type?.toLowerCase().startsWith(protobuf_type) === true;
}

function inForm(sent: Sent, type: 'Response' | 'Status', value: Record<string, unknown>): Answer {
  return isProtobuf(sent)
    ? { type: protobuf_type, body: encodeAnswer(type, value) }
    : jsonAnswer(value);
}

function partialSuccess({ refused, verdicts }: Outcome): Record<string, unknown> {
  if (refused === 0) return {};
  const reasons = verdicts.flatMap(({ is_refused, warnings }) => (is_refused ? warnings : []));
  return {
    partialSuccess: {
      rejectedLogRecords: String(refused),
      errorMessage: [...new Set(reasons)].join(', '),
    },
  };
}

function decode(body: unknown): Decoded | undefined {
  if (!isJsonObject(body)) return undefined;
  // A message may be empty; one of something else, such as traces, would be lost in silence.
  const isOther = !Object.hasOwn(body, 'resourceLogs') && Object.keys(body).length > 0;
  const lists = isOther ? undefined : (body['resourceLogs'] ?? []);
  if (!Array.isArray(lists)) return undefined;
  const records = lists.filter(isJsonObject).flatMap(({ resource, scopeLogs }) => {
    const about = attributesOf(resource);
    return listOf(scopeLogs)
      .filter(isJsonObject)
      .flatMap(({ scope, logRecords }) => {
        const shared = { resource: about, scope: scopeOf(scope) };
        return listOf(logRecords).map((record) => ({ record, shared }));
      });
  });
  const events = records.values().map(({ record, shared }) => logDraft(record, shared));
  return { length: records.length, events, keys: [] };
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
