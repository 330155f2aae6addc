import { currentSpan } from './span.ts';
import type { Span } from './span.ts';

/** The span of somebody else that a request is a part of. */
export type RemoteParent = { trace_id: string; parent_id: string; is_sampled: boolean };

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * The header `traceparent` of W3C Trace Context; undefined for what it calls invalid: that is as if
 * it had not been sent. A version that is not known yet is read by the fields of this one.
 */
export function readTraceparent(text: string | string[] | undefined): RemoteParent | undefined {
  const [, version, trace_id, parent_id, flags, more] =
    typeof text === 'string' ? (form.exec(text) ?? []) : [];
  if (trace_id === undefined || parent_id === undefined || version === 'ff') return undefined;
  if (version === '00' && more !== undefined) return undefined;
  if (/^0+$/.test(trace_id) || /^0+$/.test(parent_id)) return undefined;
  return { trace_id, parent_id, is_sampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/** The header's text for what the span asks of others. */
export function traceparentOf({ trace, span_id }: Span): string {
  return `00-${trace.trace_id}-${span_id}-${trace.is_sampled ? '01' : '00'}`;
}

/**
 * The headers of a request to others, with the one that makes it a part of the present trace; as
 * they are while nothing is traced, and where they have one of their own.
 */
export function tracedHeaders(headers: Record<string, string>): Record<string, string> {
  const span = currentSpan();
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === 'traceparent');
  return span === undefined || isGiven ? headers : { ...headers, traceparent: traceparentOf(span) };
}
