import { Resolver } from 'node:dns/promises';
import type { Logger } from '../log.ts';
import { askResolver } from './ask_resolver.ts';
import { combineAnswers } from './txt_answer.ts';
import type { TxtAnswer } from './txt_answer.ts';

/**
 * Looks names up with several resolvers. Nothing is cached here, and no search domain and no hosts
 * file of the machine is consulted.
 */
export type Dns = {
  /**
   * The TXT records of a name, as `combineAnswers` makes one answer out of those of all resolvers,
   * and what each of them said. Guarantee: settles within the time limit, and throws for no fault
   * of DNS, only the signal's reason when the caller gives up.
   */
  lookupTxt(name: string, signal?: AbortSignal): Promise<LookedUp>;
};

/** The answer of one resolver, by its address as configured. */
export type ResolverAnswer = { server: string; answer: TxtAnswer; took_ms: number };
/** The result of a look-up. */
export type LookedUp = { answer: TxtAnswer; answers: ResolverAnswer[] };

/** Share of the time limit left to the other resolvers once one of them has found records. */
const rest_of_time_limit = 1 / 5;

/**
 * Opens the look-up. `servers` are addresses, each with an optional port (`192.0.2.1`,
 * `192.0.2.1:53`, `[2001:db8::1]:53`); without any, those of the machine at the time of each
 * look-up. Throws for one that is not an address. All are asked at once.
 */
export function openDns(options: { servers: string[]; time_limit_ms?: number; log: Logger }): Dns {
  const { servers, time_limit_ms = 5_000, log } = options;
  for (const server of servers) checkServer(server);
  return {
    lookupTxt: async (name, signal) => {
      signal?.throwIfAborted();
      const asked = servers.length > 0 ? servers : new Resolver().getServers();
      const answers = await askAll(asked, name, time_limit_ms, signal);
      signal?.throwIfAborted();
      const answer = combineAnswers(answers.map((one) => one.answer));
      log.debug(
        {
          name,
          outcomes: answers.map((one) => ({ server: one.server, ...briefly(one.answer) })),
        },
        'TXT records looked up',
      );
      if (answer.outcome === 'unanswered' && answer.reason === 'unreachable')
        log.warn(
          { servers: asked },
          'No DNS server can be reached: check the network, or name others in SLUICE_DNS_SERVERS.',
        );
      return { answer, answers };
    },
  };
}

function checkServer(server: string): void {
  try {
    new Resolver().setServers([server]);
  } catch (error) {
    throw new Error(
      `"${server}" is not the address of a DNS server: give an IP address, with a port if it ` +
        'is not 53, as 192.0.2.1:53 or [2001:db8::1]:53.',
      {
        cause: error,
      },
    );
  }
}

async function askAll(
  servers: string[],
  name: string,
  time_limit_ms: number,
  signal: AbortSignal | undefined,
): Promise<ResolverAnswer[]> {
  const stop = new AbortController();
  const giveUp = () => stop.abort();
  const timers = [setTimeout(giveUp, time_limit_ms)];
  signal?.addEventListener('abort', giveUp);
  try {
    return await Promise.all(
      servers.map(async (server) => {
        const began_at = performance.now();
        const answer = await askResolver(server, name, time_limit_ms, stop.signal);
        // The absence of records is believed only if no resolver contradicts it within the whole
        // time; a dead resolver does not delay records.
        if (answer.outcome === 'found')
          timers.push(setTimeout(giveUp, time_limit_ms * rest_of_time_limit));
        return { server, answer, took_ms: Math.round(performance.now() - began_at) };
      }),
    );
  } finally {
    signal?.removeEventListener('abort', giveUp);
    for (const timer of timers) clearTimeout(timer);
  }
}

/** The answer without what a stranger wrote. */
function briefly(answer: TxtAnswer) {
  return answer.outcome === 'found'
    ? { outcome: answer.outcome, records: answer.records.length }
    : answer;
}
