import type { AddressInfo } from 'node:net';
import type { Harness } from '../../harness.ts';
import type { Engine } from '../../../server/engine/exports/engine.ts';
import type { Outbound } from '../../../server/platform/outbound/outbound.ts';

type Send = Outbound['fetch'];
/** A commit to a catalog that was not sent yet; `send` sends it, each time that it is called. */
export type CommitOnItsWay = { count: number; body: string; headers: Record<string, string> };

/** Makes the server of a harness reachable by HTTP, like a foreign catalog. */
export async function listenAsCatalog(harness: Harness): Promise<string> {
  await harness.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = harness.app.server.address() as AddressInfo;
  return `http://127.0.0.1:${port}/iceberg`;
}

/** Returns an engine whose commits to a table of a REST catalog pass through `onCommit`. */
export function withCommits(
  engine: Engine,
  onCommit: (send: () => ReturnType<Send>, commit: CommitOnItsWay) => ReturnType<Send>,
): Engine {
  let count = 0;
  const fetch: Send = (url, init) => {
    const { body } = init ?? {};
    const is_commit = typeof body === 'string' && body.includes('"add-snapshot"');
    if (!is_commit) return engine.outbound.fetch(url, init);
    count += 1;
    const headers = (init?.headers ?? {}) as Record<string, string>;
    return onCommit(() => engine.outbound.fetch(url, init), { count, body, headers });
  };
  return { ...engine, outbound: { ...engine.outbound, fetch } };
}

/** Returns an engine that reports its requests before it sends them. */
export function withRequests(engine: Engine, tell: (method: string, path: string) => void): Engine {
  const fetch: Send = (url, init) => {
    tell(init?.method ?? 'GET', new URL(String(url)).pathname);
    return engine.outbound.fetch(url, init);
  };
  return { ...engine, outbound: { ...engine.outbound, fetch } };
}

/** Reads an answer completely, and drops it as if the connection had broken. */
export async function lose(answer: ReturnType<Send>): Promise<never> {
  await (await answer).text();
  throw brokenConnection();
}

/** The error of a broken connection. */
export function brokenConnection(): TypeError {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  return new TypeError('fetch failed', { cause });
}
