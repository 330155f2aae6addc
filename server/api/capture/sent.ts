import type { FastifyRequest } from 'fastify';
import type { Sent } from './protocol.ts';

/** Returns the parts of a request that its protocol reads. */
export function sentOf(request: FastifyRequest, received_ms: number): Sent {
  const text = (name: string) => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    method: request.method,
    // As it is declared: `/%65/` is a way to write `/e/`.
    path: request.routeOptions.url ?? '',
    query: plainQuery(request.query),
    headers: {
      authorization: text('authorization'),
      write_key: text('x-write-key'),
      content_type: text('content-type'),
      sent_at: text('posthog-request-timestamp') ?? text('sentat'),
      sdk_info: text('posthog-sdk-info'),
      request_id: text('posthog-request-id'),
    },
    sender: { user_agent: text('user-agent'), address: request.ip },
    received_ms,
  };
}

/** A repeated name has its first value. */
function plainQuery(query: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries((query ?? {}) as Record<string, string | string[]>).map(([name, value]) => [
      name,
      Array.isArray(value) ? (value[0] ?? '') : value,
    ]),
  );
}
