import protobuf from 'protobufjs';
import { values_max } from '../../../engine/ingest/parse/event_list.ts';
import { nesting_max } from '../../../engine/ingest/parse/exact_json.ts';
import { tooManyValues } from '../read/unpack.ts';

// A level of a value can be three nested messages, and the library reads 100. An event that is
// nested too deeply is refused alone. So ten times the depth is read here; otherwise the other
// events of the request would be lost with it.
const messages_deep_max = 10 * 3 * nesting_max;
protobuf.Reader.recursionLimit = messages_deep_max;
protobuf.util.recursionLimit = messages_deep_max;
protobuf.Reader.discardUnknown = true;

/** A message can take two bytes, and ten million of them would take gigabytes as objects. */
class BoundedReader extends protobuf.BufferReader {
  private fields = 0;
  override tag(): number {
    this.fields += 1;
    if (this.fields > values_max) throw tooManyValues();
    return super.tag();
  }
}

const field = (type: string, id: number, rule?: 'repeated') => ({
  type,
  id,
  ...(rule === undefined ? {} : { rule }),
});

/** The parts of `ExportLogsServiceRequest` and `ExportTraceServiceRequest` that are kept. */
const root = protobuf.Root.fromJSON({
  nested: {
    Logs: { fields: { resourceLogs: field('ResourceLogs', 1, 'repeated') } },
    Spans: { fields: { resourceSpans: field('ResourceSpans', 1, 'repeated') } },
    ResourceLogs: {
      fields: { resource: field('Resource', 1), scopeLogs: field('ScopeLogs', 2, 'repeated') },
    },
    Resource: { fields: { attributes: field('KeyValue', 1, 'repeated') } },
    ScopeLogs: {
      fields: { scope: field('Scope', 1), logRecords: field('LogRecord', 2, 'repeated') },
    },
    Scope: {
      fields: {
        name: field('string', 1),
        version: field('string', 2),
        attributes: field('KeyValue', 3, 'repeated'),
      },
    },
    LogRecord: {
      fields: {
        timeUnixNano: field('fixed64', 1),
        severityNumber: field('int32', 2),
        severityText: field('string', 3),
        body: field('AnyValue', 5),
        attributes: field('KeyValue', 6, 'repeated'),
        traceId: field('bytes', 9),
        spanId: field('bytes', 10),
        observedTimeUnixNano: field('fixed64', 11),
        eventName: field('string', 12),
      },
    },
    ResourceSpans: {
      fields: { resource: field('Resource', 1), scopeSpans: field('ScopeSpans', 2, 'repeated') },
    },
    ScopeSpans: { fields: { scope: field('Scope', 1), spans: field('Span', 2, 'repeated') } },
    Span: {
      fields: {
        traceId: field('bytes', 1),
        spanId: field('bytes', 2),
        parentSpanId: field('bytes', 4),
        name: field('string', 5),
        startTimeUnixNano: field('fixed64', 7),
        endTimeUnixNano: field('fixed64', 8),
        attributes: field('KeyValue', 9, 'repeated'),
        events: field('SpanEvent', 11, 'repeated'),
        status: field('SpanStatus', 15),
      },
    },
    SpanEvent: {
      fields: {
        timeUnixNano: field('fixed64', 1),
        name: field('string', 2),
        attributes: field('KeyValue', 3, 'repeated'),
      },
    },
    SpanStatus: { fields: { message: field('string', 2), code: field('int32', 3) } },
    KeyValue: { fields: { key: field('string', 1), value: field('AnyValue', 2) } },
    AnyValue: {
      oneofs: {
        value: {
          oneof: [
            'stringValue',
            'boolValue',
            'intValue',
            'doubleValue',
            'arrayValue',
            'kvlistValue',
            'bytesValue',
          ],
        },
      },
      fields: {
        stringValue: field('string', 1),
        boolValue: field('bool', 2),
        intValue: field('int64', 3),
        doubleValue: field('double', 4),
        arrayValue: field('ArrayValue', 5),
        kvlistValue: field('KeyValueList', 6),
        bytesValue: field('bytes', 7),
      },
    },
    ArrayValue: { fields: { values: field('AnyValue', 1, 'repeated') } },
    KeyValueList: { fields: { values: field('KeyValue', 1, 'repeated') } },
    LogsAnswer: { fields: { partialSuccess: field('PartialLogs', 1) } },
    PartialLogs: {
      fields: { rejectedLogRecords: field('int64', 1), errorMessage: field('string', 2) },
    },
    SpansAnswer: { fields: { partialSuccess: field('PartialSpans', 1) } },
    PartialSpans: {
      fields: { rejectedSpans: field('int64', 1), errorMessage: field('string', 2) },
    },
    Status: { fields: { code: field('int32', 1), message: field('string', 2) } },
  },
});

/** The signal of a request, in the name of its message. */
export type Signal = 'Logs' | 'Spans';

/**
 * Returns the request in its JSON form: 64-bit numbers are text, trace and span ids are bytes.
 * Throws for bytes that are no such message, and an ApiError for one with too many values.
 */
export function decodeRequest(bytes: Buffer, signal: Signal): unknown {
  const request = root.lookupType(signal);
  const message = request.decode(new BoundedReader(bytes));
  return request.toObject(message, { longs: String, oneofs: false });
}

/** Returns the bytes of an answer. */
export function encodeAnswer(
  type: `${Signal}Answer` | 'Status',
  value: Record<string, unknown>,
): Buffer {
  const message = root.lookupType(type);
  return Buffer.from(message.encode(message.fromObject(value)).finish());
}
