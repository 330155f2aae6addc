import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { conflict, invalid } from '../errors.ts';
import { innerCall } from './inner_call.ts';
import type { Beforehand, Outcome, Work } from './inner_call.ts';
import { inTurn } from '../limits/heavy_turns.ts';

/** Ends a transaction whose inner requests lack prepared work; it is run again. */
class Lacking extends Error {}

const rounds_max = 4;
/** Bytes that one request may hold during its turn. */
const bytes_max = 200 * 1024 * 1024;

/**
 * Runs a route's work before its transaction, such as fetching a package. In an inner request,
 * whose transaction is already open, it returns the prepared result (`withBeforehand`): no lock may
 * wait for a foreign server. `key` contains everything that the result depends on.
 */
export async function beforehand<Result>(
  key: readonly unknown[],
  work: Work<Result>,
): Promise<Result> {
  const inner = innerCall();
  if (inner === undefined) return work.run();
  const name = createHash('sha256').update(JSON.stringify(key)).digest('hex');
  const outcome = inner.beforehand.done.get(name);
  if (outcome === undefined) {
    inner.beforehand.lacking.set(name, work as Work<unknown>);
    throw conflict('The server must fetch this first: try again.');
  }
  if ('error' in outcome) throw outcome.error;
  return outcome.result as Result;
}

/** Throws if inner requests lacked prepared work: `withBeforehand` then does it. */
export function requireDone({ lacking }: Beforehand): void {
  if (lacking.size > 0) throw new Lacking();
}

/**
 * Runs `attempt`, which opens a transaction, calls routes inside it and ends with `requireDone`.
 * Missing work is done after the transaction, and then `attempt` runs again. After 200 MiB of
 * results, a 400 refuses the rest at its place. Such transactions of an organization take turns:
 * they take long, and many at once would leave no connection for others.
 */
export function withBeforehand<Result>(
  request: FastifyRequest,
  attempt: (prepared: Beforehand) => Promise<Result>,
): Promise<Result> {
  return inTurn(request, async () => {
    const prepared: Beforehand = { done: new Map(), lacking: new Map() };
    let bytes = 0;
    for (let round = 0; round < rounds_max; round += 1) {
      for (const [key, { run: work, bytesOf }] of prepared.lacking) {
        const outcome = bytes > bytes_max ? { error: tooMuch() } : await settled(work);
        if ('result' in outcome) bytes += bytesOf(outcome.result);
        prepared.done.set(key, outcome);
      }
      prepared.lacking.clear();
      try {
        return await attempt(prepared);
      } catch (error) {
        if (!(error instanceof Lacking)) throw error;
      }
    }
    throw conflict('The current state kept changing during the request. Try again.');
  });
}

function tooMuch(): Error {
  return invalid(
    null,
    'invalid_input',
    'One request fetches at most 200 MiB in total. Split it into several requests.',
  );
}

async function settled(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { result: await work() };
  } catch (error) {
    return { error };
  }
}
