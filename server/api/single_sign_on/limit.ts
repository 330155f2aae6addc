import type { FastifyRequest } from 'fastify';
import { addressOf } from '../../platform/http/limits/address.ts';
import { throttled } from '../../platform/http/errors.ts';

/** Counts a request of an unknown person; throws 429 if there are too many from an address. */
export function limitAddress(
  request: FastifyRequest,
  what: 'single sign-on' | 'sign-in providers',
): void {
  const budget = request.server.limiter.take(`${what} from ${addressOf(request.ip)}`);
  if (budget?.wait_seconds !== undefined) throw throttled(budget.wait_seconds);
}
