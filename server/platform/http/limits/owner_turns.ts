import type { FastifyRequest } from 'fastify';
import { unavailable } from '../errors.ts';
import { innerCall } from '../inner/inner_call.ts';
import { openSemaphore } from '../../pacing/semaphore.ts';
import type { Semaphore } from '../../pacing/semaphore.ts';

/** As long as whoever waits for a connection. */
const wait_ms_max = 10_000;

/**
 * Whose turns the request takes, and whose locks its write: the organization's of its path, else
 * the caller's own; undefined on a public route. Where the body says which organization it is, the
 * route names that to `inWriteTurn` itself.
 */
export function ownerOf(request: FastifyRequest): string | undefined {
  const { access, caller } = request as Partial<Pick<FastifyRequest, 'access' | 'caller'>>;
  return access?.organization_id ?? caller?.user_uuid;
}

type InOwnTurn = <Result>(
  owner: string | undefined,
  work: () => Promise<Result>,
) => Promise<Result>;

/**
 * Does a write of an owner. Guarantee: three of an owner hold a connection at a time, the others
 * wait without one, so that those who wait for a long transaction (an apply, a deletion) keep none
 * from other owners. Throws 503 to who has waited for ten seconds. An inner request is a part of
 * its caller's turn. Of the 16 connections of a process four owners leave some to the others.
 */
export const inWriteTurn = openOwnTurns(3, 'Another change of this organization takes long');

/**
 * The same for a read that goes through many rows, two of an owner at a time: it waits for no lock,
 * and for no write.
 */
export const inReadTurn = openOwnTurns(2, 'What others read of this organization takes long');

/**
 * The same for a query of a user that its request waits for, two of an owner at a time: all share
 * the memory that there is for queries, of which one with many projects could hold the whole.
 */
export const inQueryTurn = openOwnTurns(2, 'Another query of this organization takes long');

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
      // Its turn comes all the same, and goes on to the next one.
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
