import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { startServer, until } from '../processes/server_process.ts';
import type { ServerProcess } from '../processes/server_process.ts';

/** Two API processes and four workers, which never restart. */
export type Crew = {
  /**
   * Sends a request to one API process after another, for at most two minutes. It stops at an
   * answer that is neither 5xx nor 429, nor a 409 that asks to retry. It repeats the same request.
   */
  ask(
    method: string,
    path: string,
    body?: unknown,
    idempotency_key?: string,
  ): Promise<{ status: number; body: Record<string, unknown> }>;
  /** Failed attempts, by their fault. */
  faults: Map<string, number>;
  /** Resolves when both API processes are ready. */
  up(): Promise<void>;
  /** Processes that ended unexpectedly, with their output. */
  listEnded(): string[];
  close(): Promise<void>;
};

const names = ['api 1', 'api 2', 'worker 1', 'worker 2', 'worker 3', 'worker 4'];
const tries_ms_max = 120_000;
const answer_ms_max = 20_000;
const again_ms = 200;

/** Starts the processes; the first migrates. Their output is in `folder`. */
export async function openCrew(
  folder: string,
  environment: Record<string, string>,
  key: string,
): Promise<Crew> {
  const running = new Map<string, ServerProcess>();
  const addresses: string[] = [];
  const stop = () => Promise.all([...running.values()].map((process) => process.stop()));
  try {
    for (const name of names) {
      const port = String(await findFreePort());
      const [command = ''] = name.split(' ');
      const started = await startServer([command], { ...environment, SLUICE_PORT: port });
      running.set(name, started);
      const log = join(folder, `${name}.log`);
      for (const stream of [started.child.stdout, started.child.stderr])
        stream?.on('data', (text: Buffer) => appendFileSync(log, text));
      if (command === 'api') addresses.push(`http://127.0.0.1:${port}`);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const agent = new Agent({ connections: 16 });
  return {
    ...openAsking(agent, addresses, key),
    listEnded: () =>
      [...running]
        .filter(([, { child }]) => child.exitCode !== null || child.signalCode !== null)
        .map(([name, { output }]) => `${name} ended:\n${output().slice(-2_000)}`),
    close: async () => {
      await stop();
      await agent.destroy();
    },
  };
}

function openAsking(
  agent: Agent,
  addresses: string[],
  key: string,
): Pick<Crew, 'ask' | 'faults' | 'up'> {
  const faults = new Map<string, number>();
  let turn = 0;
  return {
    faults,
    ask: async (method, path, body, idempotency_key) => {
      const end = performance.now() + tries_ms_max;
      for (;;) {
        turn += 1;
        const url = `${addresses[turn % addresses.length]!}${path}`;
        const tried = await tryOnce(agent, { method, url, key, body, idempotency_key });
        if (typeof tried !== 'string') return tried;
        faults.set(tried, (faults.get(tried) ?? 0) + 1);
        if (performance.now() > end) throw new Error(`${method} ${path}: ${tried}`);
        await pause(again_ms);
      }
    },
    up: async () => {
      await until('both API processes to be ready', 120_000, 100, async () => {
        for (const address of addresses) {
          const found = await tryOnce(agent, { method: 'GET', url: `${address}/readyz`, key });
          if (typeof found === 'string') return;
        }
        return true;
      });
    },
  };
}

/** Returns the answer, or why there is no final one. */
async function tryOnce(
  dispatcher: Agent,
  wanted: {
    method: string;
    url: string;
    key: string;
    body?: unknown;
    idempotency_key?: string | undefined;
  },
): Promise<{ status: number; body: Record<string, unknown> } | string> {
  const { method, url, key, body, idempotency_key } = wanted;
  try {
    const answer = await request(url, {
      method: method as 'GET',
      dispatcher,
      headersTimeout: answer_ms_max,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotency_key === undefined ? {} : { 'idempotency-key': idempotency_key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { statusCode: status, headers } = answer;
    const text = await answer.body.text();
    const mayPass = status >= 500 || status === 429 || headers['retry-after'] !== undefined;
    if (mayPass) return String(status);
    return { status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}
