import { Resolver } from 'node:dns/promises';
import type { Logger } from '../log.ts';
import { askResolver } from './ask_resolver.ts';
import { combineAnswers } from './txt_answer.ts';
import type { TxtAnswer } from './txt_answer.ts';

/**
 * Looks names up with several resolvers. Nothing is cached here, and it ignores the machine's
 * search domain and hosts file.
 */
export type Dns = {
  /**
   * Returns the TXT records of a name: the answers of all resolvers, joined by `combineAnswers`,
   * and each resolver's answer. Guarantee: settles within the time limit, and never throws for a
   * fault of DNS, only the signal's reason if the caller aborts.
   */
  lookupTxt(name: string, signal?: AbortSignal): Promise<LookedUp>;
};

/** The answer of one resolver, by its configured address. */
export type ResolverAnswer = { server: string; answer: TxtAnswer; took_ms: number };
/** The result of a look-up. */
export type LookedUp = { answer: TxtAnswer; answers: ResolverAnswer[] };

/** Share of the time limit left to the other resolvers once one of them has found records. */
const rest_of_time_limit = 1 / 5;

/**
 * Opens the look-up. `servers` are addresses, each with an optional port (`192.0.2.1`,
 * `192.0.2.1:53`, `[2001:db8::1]:53`); by default, the machine's resolvers at the time of each
 * look-up. Throws for an invalid address. All are asked at once.
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
        // Missing records only count if no resolver contradicts within the whole time; an
        // unreachable resolver does not delay records.
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

/** Returns the answer without untrusted text. */
function briefly(answer: TxtAnswer) {
  return answer.outcome === 'found'
    ? { outcome: answer.outcome, records: answer.records.length }
    : answer;
}
