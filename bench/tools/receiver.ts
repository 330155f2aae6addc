import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { listenLocally } from '../../test/servers/loopback.ts';

/** An event on arrival; `sent_at`: when the server got it. */
type Arriving = {
  messageId: string;
  userId?: string;
  anonymousId?: string;
  properties: { sent_at: number; number: number };
};

/**
 * The events and answers of one tool. `disordered`: events that first arrived after a later event
 * of their person; `failed`: answers of 503.
 */
type Came = {
  uuids: Set<string>;
  delays_ms: number[];
  answers: number;
  limited: number;
  failed: number;
  disordered: number;
  newest: Map<string, number>;
};

const nothingCame = (): Came => ({
  uuids: new Set(),
  delays_ms: [],
  answers: 0,
  limited: 0,
  failed: 0,
  disordered: 0,
  newest: new Map(),
});

/** A receiver of many tools, each with its own path. */
export type BenchReceiver = {
  url: string;
  came(path: string): Came;
  /** Answers 503 at the path until it is called with false. */
  setDown(path: string, is_down: boolean): void;
  /** Answers 429 at the path to requests over this number in a minute of the clock. */
  setLimit(path: string, per_minute: number): void;
  close(): Promise<void>;
};

function take(came: Came, { messageId, properties, ...person }: Arriving, now: number): void {
  if (came.uuids.has(messageId)) return;
  came.uuids.add(messageId);
  came.delays_ms.push(now - properties.sent_at);
  const name = person.userId ?? person.anonymousId ?? '';
  if (properties.number < (came.newest.get(name) ?? 0)) came.disordered += 1;
  came.newest.set(name, properties.number);
}

/** Opens a receiver that accepts everything. */
export async function openBenchReceiver(): Promise<BenchReceiver> {
  const all = new Map<string, Came>();
  const down = new Set<string>();
  const limits = new Map<string, { per_minute: number; minute: number; used: number }>();
  const cameOf = (path: string): Came => {
    const came = all.get(path) ?? nothingCame();
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
    if (down.has(path)) {
      came.failed += 1;
      return void response.writeHead(503).end();
    }
    came.answers += 1;
    if (isOver(path)) {
      came.limited += 1;
      const seconds = 60 - (Math.floor(Date.now() / 1_000) % 60);
      return void response.writeHead(429, { 'retry-after': String(seconds) }).end();
    }
    const now = Date.now();
    for (const event of [JSON.parse(text) as Arriving | Arriving[]].flat()) take(came, event, now);
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
