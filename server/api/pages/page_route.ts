import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { apiErrorOf } from '../../platform/http/error_handler.ts';
import { html } from '../../platform/http/pages/html.ts';
import { sendPage } from '../../platform/http/pages/page.ts';

const titles: Record<number, string> = { 429: 'Too many requests', 503: 'Not at the moment' };

/** The options of a route that answers with a page, faults too. */
export const page_route = {
  config: { scope: 'public', accepts_anything: true },
  schema: { hide: true },
  errorHandler: answerFault,
} satisfies RouteShorthandOptions;

function answerFault(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const fault = apiErrorOf(error);
  if (fault !== error && fault.status >= 500)
    request.server.context.log.error({ err: error, request_id: request.id }, 'a page failed');
  return sendPage(reply.headers(fault.headers), fault.status, {
    title: titles[fault.status] ?? 'This page could not be shown',
    body: html`<p>${fault.message}</p>
      <p class="muted">Request id: <code>${request.id}</code></p>`,
  });
}
