import type { FastifyRequest } from 'fastify';
import { openSemaphore } from '../../pacing/semaphore.ts';
import { throttled } from '../errors.ts';
import { innerCall } from '../inner/inner_call.ts';

// A package needs up to half a gigabyte while it is unpacked, compiled and stored.
const everybody = openSemaphore(4);
const waiting_max = 10;
const wait_seconds = 30;

type Turns = { count: number; last: Promise<unknown> };

const organizations = new Map<string, Turns>();

/**
 * Runs work that holds much memory, such as a package, or a connection for long. Guarantee: one at
 * a time for each organization and four in total, whatever the number of requests; an organization
 * with ten of them in progress gets a 429. An inner request belongs to its caller's turn and waits
 * for none: its transaction holds locks that earlier ones may wait for.
 */
export async function inTurn<Result>(
  request: FastifyRequest,
  work: () => Promise<Result>,
): Promise<Result> {
  if (innerCall() !== undefined) return work();
  const { organization_id } = request.access;
  const turns = organizations.get(organization_id) ?? { count: 0, last: Promise.resolve() };
  if (turns.count >= waiting_max) throw throttled(wait_seconds);
  organizations.set(organization_id, turns);
  turns.count += 1;
  const result = turns.last.then(() => everybody.run(work));
  turns.last = result.catch(() => {});
  try {
    return await result;
  } finally {
    turns.count -= 1;
    if (turns.count === 0) organizations.delete(organization_id);
  }
}
