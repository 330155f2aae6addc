import type { AddressInfo } from 'node:net';
import type { Harness } from '../../harness.ts';
import type { Engine } from '../../../server/engine/exports/engine.ts';
import type { Outbound } from '../../../server/platform/outbound/outbound.ts';

type Send = Outbound['fetch'];
/** A commit on its way to a catalog; `send` sends it, as often as it is called. */
export type CommitOnItsWay = { count: number; body: string; headers: Record<string, string> };

/** Lets the server of a harness be reached by HTTP, as the catalog of somebody else. */
export async function listenAsCatalog(harness: Harness): Promise<string> {
  await harness.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = harness.app.server.address() as AddressInfo;
  return `http://127.0.0.1:${port}/iceberg`;
}

/** The engine, whose commits to a table of a REST catalog pass through `onCommit`. */
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

/** The engine, whose requests are told before they are sent. */
export function withRequests(engine: Engine, tell: (method: string, path: string) => void): Engine {
  const fetch: Send = (url, init) => {
    tell(init?.method ?? 'GET', new URL(String(url)).pathname);
    return engine.outbound.fetch(url, init);
  };
  return { ...engine, outbound: { ...engine.outbound, fetch } };
}

/** Reads an answer whole, and loses it: the connection seems to break. */
export async function lose(answer: ReturnType<Send>): Promise<never> {
  await (await answer).text();
  throw brokenConnection();
}

/** The error of a connection that broke. */
export function brokenConnection(): TypeError {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  return new TypeError('fetch failed', { cause });
}
