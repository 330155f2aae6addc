import type { FastifyInstance, FastifyRequest } from 'fastify';
import { declaredPath } from './methods.ts';
import { asPartOf } from '../tracing/span.ts';
import type { Span } from '../tracing/span.ts';
import { readTraceparent, traceparentOf } from '../tracing/traceparent.ts';
import type { Tracer } from '../tracing/tracer.ts';

const request_kind = 2;
/** Asked every few seconds by machines that only want to know whether all is well. */
const untold = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Creates a span of each request, in the trace that its `traceparent` names. The span has the
 * method, the route as declared and the request's id: paths, queries and bodies may hold secrets.
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
  // The end of a body is told by the connection, which is a part of no request.
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
