import type { FastifyRequest } from 'fastify';
import { unavailable } from '../errors.ts';
import { innerCall } from '../inner/inner_call.ts';
import { openSemaphore } from '../../pacing/semaphore.ts';
import type { Semaphore } from '../../pacing/semaphore.ts';

/** As long as the wait for a connection. */
const wait_ms_max = 10_000;

/**
 * Returns the owner whose turns and write locks the request uses: the organization of its path,
 * otherwise the caller. Undefined on a public route. If the body names the organization, the route
 * itself passes it to `inWriteTurn`.
 */
export function ownerOf(request: FastifyRequest): string | undefined {
  const { access, caller } = request as Partial<Pick<FastifyRequest, 'access' | 'caller'>>;
  return access?.organization_id ?? caller?.user_uuid ?? caller?.scoped_organizations?.[0];
}

type InOwnTurn = <Result>(
  owner: string | undefined,
  work: () => Promise<Result>,
) => Promise<Result>;

/**
 * Runs a write of an owner. Guarantee: at most three writes of an owner hold a connection; the
 * others wait without one. So a queue behind a long transaction (an apply, a deletion) blocks no
 * other owner. Throws 503 after ten seconds of waiting. An inner request belongs to its caller's
 * turn. Of a process's 16 connections, four busy owners leave some to others.
 */
export const inWriteTurn = openOwnTurns(3, 'Another change of this organization takes a long time');

/**
 * Does the same for a read of many rows, two per owner at a time: it waits for no lock and no
 * write.
 */
export const inReadTurn = openOwnTurns(2, 'Other reads of this organization take a long time');

/**
 * Does the same for a user's query that its request waits for, two per owner at a time. All share
 * the memory for queries, and one owner with many projects could occupy all of it.
 */
export const inQueryTurn = openOwnTurns(2, 'Another query of this organization takes a long time');

function openOwnTurns(under_way_max: number, why: string): InOwnTurn {
  const owners = new Map<string, { turns: Semaphore; count: number }>();
  return async (owner, work) => {
    if (owner === undefined || innerCall() !== undefined) return work();
    const known = owners.get(owner) ?? { turns: openSemaphore(under_way_max), count: 0 };
    owners.set(owner, known);
    known.count += 1;
    const leave = () => {
      known.turns.give();
      known.count -= 1;
      if (known.count === 0) owners.delete(owner);
    };
    const taken = known.turns.take();
    const late = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => late.resolve('late'), wait_ms_max);
    const outcome = await Promise.race([taken, late.promise]);
    clearTimeout(timer);
    if (outcome === 'late') {
      // It still gets its turn later, and passes it on.
      void taken.then(leave);
      throw unavailable(`${why}, and this one waits for it: try again in some seconds.`);
    }
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
