import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';

/** An answer of one of the API processes. */
export type Answered = { status: number; body: Record<string, unknown> };

/**
 * A balancer in front of several API processes. Twice a second it checks which ones are ready, and
 * sends requests to these in turn.
 */
export type Balancer = {
  /**
   * Retries for at most half a minute, until an answer is neither 5xx nor 429. It counts every
   * other attempt by its result. Rejects with the last fault.
   */
  ask(method: string, path: string, body?: unknown): Promise<Answered>;
  /** The same with a body of text, for the status only; it does not read the answer. */
  send(method: string, path: string, text?: string): Promise<number>;
  /** Failed attempts, by their fault: the code of an error, or a status. */
  faults: Map<string, number>;
  /** The message of the first failed attempt, by its fault. */
  first_words: Map<string, string>;
  /** The number of answers, and the longest time of one with all its attempts, in milliseconds. */
  counts: { answers: number; mended: number; longest_ms: number };
  /** Returns true if the process was ready at the last check. */
  isReady(address: string): boolean;
  close(): Promise<void>;
};

const look_ms = 500;
const tries_ms_max = 30_000;
const retry_pause_ms = 100;

/** Opens a balancer in front of the addresses; connections to them are kept. */
export async function openBalancer(addresses: string[], key: string): Promise<Balancer> {
  const agent = new Agent({ connections: 64, keepAliveTimeout: 60_000 });
  const watch = watchReady(addresses, agent);
  const faults = new Map<string, number>();
  const first_words = new Map<string, string>();
  const counts = { answers: 0, mended: 0, longest_ms: 0 };
  const untilAnswered = async <Answer>(
    told: string,
    tryOne: (address: string) => Promise<Answer>,
  ): Promise<Answer> => {
    const began = performance.now();
    for (let tried = 1; ; tried += 1) {
      try {
        const answer = await tryOne(watch.next());
        counts.answers += 1;
        if (tried > 1) counts.mended += 1;
        counts.longest_ms = Math.max(counts.longest_ms, Math.round(performance.now() - began));
        return answer;
      } catch (error) {
        const code = (error as { code?: string }).code ?? String(error);
        faults.set(code, (faults.get(code) ?? 0) + 1);
        if (!first_words.has(code)) first_words.set(code, `${told}: ${String(error)}`);
        if (performance.now() - began > tries_ms_max) throw error;
        await pause(retry_pause_ms);
      }
    }
  };
  const ask: Balancer['ask'] = (method, path, body) => {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    return untilAnswered(`${method} ${path}`, async (address) => {
      const answer = await tryOnce(agent, key, method, `${address}${path}`, sent);
      const text = await answer.body.text();
      return {
        status: answer.statusCode,
        body: text === '' ? {} : (JSON.parse(text) as Answered['body']),
      };
    });
  };
  const send: Balancer['send'] = (method, path, text) =>
    untilAnswered(`${method} ${path}`, async (address) => {
      const answer = await tryOnce(agent, key, method, `${address}${path}`, text);
      await answer.body.dump();
      return answer.statusCode;
    });
  return {
    ask,
    send,
    faults,
    first_words,
    counts,
    isReady: watch.isReady,
    close: async () => {
      await watch.close();
      await agent.destroy();
    },
  };
}

/** Checks whether each address is ready, and returns the ready ones in turn. */
function watchReady(addresses: string[], dispatcher: Agent) {
  const ready = new Set<string>();
  let turn = 0;
  let isClosed = false;
  const look = async (address: string) => {
    const status = await request(`${address}/readyz`, { dispatcher, headersTimeout: 2_000 })
      .then(async ({ body, statusCode }) => body.dump().then(() => statusCode))
      .catch(() => 0);
    if (status === 200) ready.add(address);
    else ready.delete(address);
  };
  const looking = addresses.map(async (address) => {
    while (!isClosed) {
      await look(address);
      await pause(look_ms);
    }
  });
  return {
    isReady: (address: string) => ready.has(address),
    next: () => {
      const known = addresses.filter((address) => ready.has(address));
      const from = known.length === 0 ? addresses : known;
      turn += 1;
      return from[turn % from.length]!;
    },
    close: async () => {
      isClosed = true;
      await Promise.all(looking);
    },
  };
}

/** Sends one attempt. Rejects for 5xx and 429, with the status as its code. */
async function tryOnce(
  dispatcher: Agent,
  key: string,
  method: string,
  url: string,
  body: string | undefined,
) {
  const answer = await request(url, {
    method: method as 'GET',
    dispatcher,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });
  const { statusCode: status } = answer;
  if (status < 500 && status !== 429) return answer;
  throw Object.assign(new Error(await answer.body.text()), { code: String(status) });
}
