import ipaddr from 'ipaddr.js';
import type { ResolverAnswer } from '../../../platform/dns/dns.ts';
import { judgeAnswer } from './challenge.ts';
import type { CheckOutcome } from './challenge.ts';

/** The answer of one resolver, as stored and shown. */
export type ShownAnswer = {
  resolver: string;
  outcome: CheckOutcome;
  detail: string;
  took_ms: number;
};

/**
 * Returns the answer of each resolver, in the order of the configuration. A resolver in the
 * server's own network appears as a number, because its address is private.
 */
export function shownAnswers(
  domain: string,
  challenge: string,
  answers: ResolverAnswer[],
): ShownAnswer[] {
  return answers.map(({ server, answer, took_ms }, index) => {
    const { outcome, reason } = judgeAnswer(domain, challenge, answer);
    const isAway = answer.outcome === 'unanswered' && answer.reason === 'unreachable';
    return {
      resolver: publicAddress(server) ?? `resolver ${index + 1} of the server`,
      outcome,
      detail: isAway ? 'The server cannot reach this resolver.' : reason,
      took_ms,
    };
  });
}

/** Returns the address without its port, if it is public. */
function publicAddress(server: string): string | undefined {
  const address = /^\[(.+)\](?::\d+)?$/.exec(server)?.[1] ?? server.replace(/^([\d.]+):\d+$/, '$1');
  if (!ipaddr.isValid(address)) return undefined;
  return ipaddr.process(address).range() === 'unicast' ? address : undefined;
}
