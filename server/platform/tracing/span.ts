import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFillSync } from 'node:crypto';

/** Attributes of a span. Never a value that a person wrote: it may contain secrets. */
export type Attributes = Record<string, string | number | boolean>;

/**
 * The kind of work: internal (1), the server side of a request (2), or a request to another server
 * (3).
 */
export type SpanKind = 1 | 2 | 3;

/** The parts that all spans of a trace in this process share. */
export type Trace = {
  trace_id: string;
  /** Only a sampled trace is exported; of others, only the id exists. */
  is_sampled: boolean;
  /** Milliseconds of the wall clock when `performance.now()` was 0. */
  origin_ms: number;
  onEnd(span: Span): void;
};

const id_bytes = Buffer.alloc(8_192);
let id_at = id_bytes.length;

/** Returns random bytes in hex: 16 for a trace, 8 for a span. */
export function newId(bytes: 8 | 16): string {
  if (id_at + bytes > id_bytes.length) {
    randomFillSync(id_bytes);
    id_at = 0;
  }
  id_at += bytes;
  return id_bytes.toString('hex', id_at - bytes, id_at);
}

/** A piece of work within a trace, with its beginning and its end. */
export class Span {
  readonly trace: Trace;
  readonly span_id = newId(8);
  readonly parent_id: string | undefined;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly started_at = performance.now();
  name: string;
  ended_at: number | undefined;
  has_failed = false;

  constructor(
    trace: Trace,
    name: string,
    options: { parent_id?: string | undefined; kind?: SpanKind; attributes?: Attributes },
  ) {
    this.trace = trace;
    this.name = name;
    this.parent_id = options.parent_id;
    this.kind = options.kind ?? 1;
    this.attributes = { ...options.attributes };
  }

  /** Returns a part of this work; in an unsampled trace, it is the span itself. */
  child(name: string, attributes: Attributes, kind: SpanKind = 1): Span {
    if (!this.trace.is_sampled) return this;
    return new Span(this.trace, name, { parent_id: this.span_id, kind, attributes });
  }

  /** Records that the work failed, with the kind of the error: its message may contain secrets. */
  fail(error: unknown): void {
    this.has_failed = true;
    const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
    const [kind = 'unknown'] = [code, name].filter((one) => typeof one === 'string');
    this.attributes['error.type'] = kind.slice(0, 100);
  }

  /** Ends the work; a second end changes nothing. */
  end(): void {
    if (this.ended_at !== undefined || !this.trace.is_sampled) return;
    this.ended_at = performance.now();
    this.trace.onEnd(this);
  }
}

const spans = new AsyncLocalStorage<Span>();

/** Returns the span of the present work; undefined without one, as while traces are off. */
export function currentSpan(): Span | undefined {
  return spans.getStore();
}

/** Runs `work` and everything that it starts as part of the span. */
export function asPartOf<Result>(span: Span, work: () => Result): Result {
  return spans.run(span, work);
}

/** Runs `work` outside of all spans, because it serves many. */
export function outsideOfSpans<Result>(work: () => Result): Result {
  return spans.exit(work);
}

/** Runs the work as the span, which ends with it. */
export async function doAs<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
  try {
    return await spans.run(span, work);
  } catch (error) {
    span.fail(error);
    throw error;
  } finally {
    span.end();
  }
}

/**
 * Runs the work as a part of the present span; without one, or if it is unsampled, it simply runs.
 */
export function inSpan<Result>(
  name: string,
  attributes: Attributes,
  work: () => Promise<Result>,
  kind: SpanKind = 1,
): Promise<Result> {
  const span = spans.getStore();
  return span?.trace.is_sampled === true ? doAs(span.child(name, attributes, kind), work) : work();
}

/** Returns the fields that link a log line and its trace. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const span = spans.getStore();
  return span === undefined ? {} : { trace_id: span.trace.trace_id, span_id: span.span_id };
}
