import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { listenLocally } from '../../test/servers/loopback.ts';

/** An event as it arrives; `sent_at` is when it was given to the server. */
type Arriving = { messageId: string; properties: { sent_at: number } };

/** The events and answers of one tool. */
type Came = { uuids: Set<string>; delays_ms: number[]; answers: number; limited: number };

/** A receiver of many tools, each at a path of its own. */
export type BenchReceiver = {
  url: string;
  came(path: string): Came;
  /** Answers 503 at the path, until it is called with false. */
  setDown(path: string, is_down: boolean): void;
  /** Answers 429 at the path beyond so many requests in a minute of the clock. */
  setLimit(path: string, per_minute: number): void;
  close(): Promise<void>;
};

/** Opens a receiver that takes everything. */
export async function openBenchReceiver(): Promise<BenchReceiver> {
  const all = new Map<string, Came>();
  const down = new Set<string>();
  const limits = new Map<string, { per_minute: number; minute: number; used: number }>();
  const cameOf = (path: string): Came => {
    const came = all.get(path) ?? { uuids: new Set(), delays_ms: [], answers: 0, limited: 0 };
    all.set(path, came);
    return came;
  };
  const isOver = (path: string): boolean => {
    const limit = limits.get(path);
    if (limit === undefined) return false;
    const minute = Math.floor(Date.now() / 60_000);
    if (minute !== limit.minute) [limit.minute, limit.used] = [minute, 0];
    limit.used += 1;
    return limit.used > limit.per_minute;
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url!.slice(1);
    const came = cameOf(path);
    const text = await textOf(request);
    if (down.has(path)) return void response.writeHead(503).end();
    came.answers += 1;
    if (isOver(path)) {
      came.limited += 1;
      const seconds = 60 - (Math.floor(Date.now() / 1_000) % 60);
      return void response.writeHead(429, { 'retry-after': String(seconds) }).end();
    }
    const now = Date.now();
    for (const { messageId, properties } of [JSON.parse(text) as Arriving | Arriving[]].flat()) {
      if (!came.uuids.has(messageId)) came.delays_ms.push(now - properties.sent_at);
      came.uuids.add(messageId);
    }
    response.writeHead(200).end();
  };
  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  const { port, close } = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    came: cameOf,
    setDown: (path, is_down) => void (is_down ? down.add(path) : down.delete(path)),
    setLimit: (path, per_minute) => void limits.set(path, { per_minute, minute: 0, used: 0 }),
    close,
  };
}
