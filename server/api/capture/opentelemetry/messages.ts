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

/** The parts of `ExportLogsServiceRequest` and `ExportTraceServiceRequest` that are kept. */
const { root } = protobuf.parse(
  `syntax = "proto3";
  message Logs { repeated ResourceLogs resourceLogs = 1; }
  message Spans { repeated ResourceSpans resourceSpans = 1; }
  message ResourceLogs { Resource resource = 1; repeated ScopeLogs scopeLogs = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeLogs { Scope scope = 1; repeated LogRecord logRecords = 2; }
  message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
  message LogRecord {
    fixed64 timeUnixNano = 1;
    int32 severityNumber = 2;
    string severityText = 3;
    AnyValue body = 5;
    repeated KeyValue attributes = 6;
    bytes traceId = 9;
    bytes spanId = 10;
    fixed64 observedTimeUnixNano = 11;
    string eventName = 12;
  }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopeSpans = 2; }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
  message Span {
    bytes traceId = 1;
    bytes spanId = 2;
    bytes parentSpanId = 4;
    string name = 5;
    fixed64 startTimeUnixNano = 7;
    fixed64 endTimeUnixNano = 8;
    repeated KeyValue attributes = 9;
    repeated SpanEvent events = 11;
    SpanStatus status = 15;
  }
  message SpanEvent {
    fixed64 timeUnixNano = 1;
    string name = 2;
    repeated KeyValue attributes = 3;
  }
  message SpanStatus { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value {
      string stringValue = 1;
      bool boolValue = 2;
      int64 intValue = 3;
      double doubleValue = 4;
      ArrayValue arrayValue = 5;
      KeyValueList kvlistValue = 6;
      bytes bytesValue = 7;
    }
  }
  message ArrayValue { repeated AnyValue values = 1; }
  message KeyValueList { repeated KeyValue values = 1; }
  message LogsAnswer { PartialLogs partialSuccess = 1; }
  message PartialLogs { int64 rejectedLogRecords = 1; string errorMessage = 2; }
  message SpansAnswer { PartialSpans partialSuccess = 1; }
  message PartialSpans { int64 rejectedSpans = 1; string errorMessage = 2; }
  message Status { int32 code = 1; string message = 2; }`,
);

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
