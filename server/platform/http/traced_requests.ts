import type { FastifyInstance, FastifyRequest } from 'fastify';
import { declaredPath } from './methods.ts';
import { asPartOf } from '../tracing/span.ts';
import type { Span } from '../tracing/span.ts';
import { readTraceparent, traceparentOf } from '../tracing/traceparent.ts';
import type { Tracer } from '../tracing/tracer.ts';

const request_kind = 2;
/** Monitoring systems request these every few seconds. */
const untold = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Creates a span of each request, in the trace that its `traceparent` names. The span contains the
 * method, the declared route and the request's id: paths, queries and bodies may contain secrets.
 * The answer names the span in `traceresponse`.
 */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  const spans = new WeakMap<FastifyRequest, Span>();
  app.addHook('onRequest', (request, reply, done) => {
    const route = declaredPath(request);
    if (untold.has(route)) return done();
    const span = tracer.begin(`${request.method} ${route}`, {
      kind: request_kind,
      parent: readTraceparent(request.headers.traceparent),
      attributes: {
        'http.request.method': request.method,
        'http.route': route,
        'sluice.request_id': request.id,
      },
    });
    spans.set(request, span);
    reply.header('traceresponse', traceparentOf(span));
    asPartOf(span, done);
  });
  // The connection reports the end of a body, outside the request's context.
  app.addHook('preValidation', (request, _reply, done) => {
    const span = spans.get(request);
    return span === undefined ? done() : asPartOf(span, done);
  });
  app.addHook('onError', (request, _reply, error, done) => {
    if (error.statusCode === undefined || error.statusCode >= 500) spans.get(request)?.fail(error);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request);
    if (span === undefined) return done();
    span.attributes['http.response.status_code'] = reply.statusCode;
    if (reply.statusCode >= 500) span.has_failed = true;
    span.end();
    asPartOf(span, done);
  });
}
