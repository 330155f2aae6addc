import { Resolver } from 'node:dns/promises';
import type { TxtAnswer, UnansweredReason } from './txt_answer.ts';

const aliases_max = 8;
const tries = 4;

// Codes missing here are faults of the connection.
const reason_by_code: Record<string, UnansweredReason> = {
  ESERVFAIL: 'servfail',
  EREFUSED: 'refused',
  ENOTIMP: 'refused',
  EFORMERR: 'malformed',
  EBADRESP: 'malformed',
  EBADNAME: 'malformed',
  ETIMEOUT: 'timeout',
  ECANCELLED: 'timeout',
};

/**
 * Asks one resolver for the TXT records of a name. It settles at the latest when `signal` aborts,
 * which counts as no answer in time. Guarantee: never throws. A truncated answer is fetched again
 * over TCP, so it has 64 KiB at most. Up to 8 aliases are followed, also if the resolver returns
 * only an alias. Messages with another transaction id or question are ignored; otherwise the
 * resolver is trusted.
 */
export async function askResolver(
  server: string,
  name: string,
  time_limit_ms: number,
  signal: AbortSignal,
): Promise<TxtAnswer> {
  // A separate channel: `cancel` ends every query of a resolver, which also holds the cache of
  // c-ares.
  const resolver = new Resolver({ timeout: Math.ceil(time_limit_ms / tries), tries });
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    resolver.setServers([server]);
    return await followAliases(resolver, name, signal);
  } catch (error) {
    return answerOf((error as NodeJS.ErrnoException).code ?? '');
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

async function followAliases(
  resolver: Resolver,
  name: string,
  signal: AbortSignal,
): Promise<TxtAnswer> {
  const asked = new Set<string>();
  for (let current = name; asked.size <= aliases_max;) {
    asked.add(current.toLowerCase());
    const records = await unlessNone(resolver.resolveTxt(current));
    if (records.length > 0) return { outcome: 'found', records: records.map(decode) };
    // `cancel` does not affect later queries.
    if (signal.aborted) break;
    // c-ares does not follow an answer that only has the alias.
    const [target] = await unlessNone(resolver.resolveCname(current));
    // If the answer only has records of other types, c-ares returns the name itself.
    if (target === undefined || target.toLowerCase() === current.toLowerCase())
      return { outcome: 'no_records' };
    if (asked.has(target.toLowerCase())) break;
    current = target;
    if (signal.aborted) break;
  }
  return { outcome: 'unanswered', reason: signal.aborted ? 'timeout' : 'alias_loop' };
}

async function unlessNone<Item>(answer: Promise<Item[]>): Promise<Item[]> {
  try {
    return await answer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENODATA') return [];
    throw error;
  }
}

function answerOf(code: string): TxtAnswer {
  return code === 'ENOTFOUND'
    ? { outcome: 'no_such_name' }
    : { outcome: 'unanswered', reason: reason_by_code[code] ?? 'unreachable' };
}

/** Node returns each byte of a TXT record as one character. */
function decode(strings: string[]): string {
  return Buffer.from(strings.join(''), 'latin1').toString('utf8');
}
