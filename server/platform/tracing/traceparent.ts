import { currentSpan } from './span.ts';
import type { Span } from './span.ts';

/** The remote span that a request belongs to. */
export type RemoteParent = { trace_id: string; parent_id: string; is_sampled: boolean };

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Reads the header `traceparent` of W3C Trace Context; undefined for an invalid one, which counts
 * as absent. An unknown later version is read by the fields of this one.
 */
export function readTraceparent(text: string | string[] | undefined): RemoteParent | undefined {
  const [, version, trace_id, parent_id, flags, more] =
    typeof text === 'string' ? (form.exec(text) ?? []) : [];
  if (trace_id === undefined || parent_id === undefined || version === 'ff') return undefined;
  if (version === '00' && more !== undefined) return undefined;
  if (/^0+$/.test(trace_id) || /^0+$/.test(parent_id)) return undefined;
  return { trace_id, parent_id, is_sampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/** Returns the header's text for the span's requests to others. */
export function traceparentOf({ trace, span_id }: Span): string {
  return `00-${trace.trace_id}-${span_id}-${trace.is_sampled ? '01' : '00'}`;
}

/**
 * Returns the headers of a request to others, with the one that adds it to the present trace;
 * unchanged while nothing is traced, and if they already have one.
 */
export function tracedHeaders(headers: Record<string, string>): Record<string, string> {
  const span = currentSpan();
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === 'traceparent');
  return span === undefined || isGiven ? headers : { ...headers, traceparent: traceparentOf(span) };
}
