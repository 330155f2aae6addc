import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { listenLocally } from '../../../test/servers/loopback.ts';
import type { Random } from '../../../test/chaos/random.ts';

/**
 * The arrival of an event at a path. `number` is what the campaign knows it by, `uuid` is the key
 * that a tool recognizes repeats by. `is_lost`: it was taken, and the answer was not given.
 */
export type Arrival = { uuid: string; number: number; at: number; is_lost: boolean };

/** An event as it is sent here. */
type Sent = { messageId: string; properties: { number: number } };

/** The part of the receiver for a tool that can forget persons. */
type Forgetting = {
  /** Ids in its events, and how often it heard to forget them. */
  remembered: Set<string>;
  deletions: Map<string, number>;
  /** Called when it hears of one, before it answers. */
  before_deletion: () => void;
  take(response: ServerResponse, text: string): Promise<void>;
};

function openForgetting(): Forgetting {
  const forgetting: Forgetting = {
    remembered: new Set(),
    deletions: new Map(),
    before_deletion: () => undefined,
    take: async (response, text) => {
      const { remembered, deletions } = forgetting;
      const body = JSON.parse(text) as { type?: string; userId: string };
      const { type, userId } = body;
      if (type === undefined) {
        deletions.set(userId, (deletions.get(userId) ?? 0) + 1);
        forgetting.before_deletion();
        await pause(500);
      } else for (const value of Object.values(body)) remembered.add(value);
      response.writeHead(200).end();
    },
  };
  return forgetting;
}

/** A receiver that takes notes of all, and fails as vendors do until it is told to be kind. */
export type Receiver = {
  url: string;
  /** Events that were taken, by path, in order. */
  arrivals: Map<string, Arrival[]>;
  /** The events of a tool that takes a key it knows for a repeat: by path, the numbers by key. */
  kept: Map<string, Map<string, number>>;
  counts: { requests: number; lost: number; failed: number; limited: number };
  forgetting: Forgetting;
  /** Answers 503 at a path for so long. */
  outage(path: string, milliseconds: number): void;
  heal(): void;
  close(): Promise<void>;
};

const limit_per_minute = 750;

/** Counts requests by the minute of the clock; true beyond the limit. */
function openLimit(): () => boolean {
  let [minute, used] = [0, 0];
  return () => {
    const present = Math.floor(Date.now() / 60_000);
    if (present !== minute) [minute, used] = [present, 0];
    used += 1;
    return used > limit_per_minute;
  };
}

/** Opens the receiver; the path `limited` takes 750 requests a minute. */
export async function openReceiver(random: Random, limited: string): Promise<Receiver> {
  const arrivals = new Map<string, Arrival[]>();
  const kept = new Map<string, Map<string, number>>();
  const counts = { requests: 0, lost: 0, failed: 0, limited: 0 };
  const down = new Map<string, number>();
  const isOverLimit = openLimit();
  let isKind = false;
  const answer = (response: ServerResponse, path: string, events: Sent[]): void => {
    counts.requests += 1;
    if (path === limited && isOverLimit()) {
      counts.limited += 1;
      const seconds = 60 - (Math.floor(Date.now() / 1_000) % 60);
      return void response.writeHead(429, { 'retry-after': String(seconds) }).end();
    }
    const chance = isKind ? 1 : random.next();
    if ((down.get(path) ?? 0) > Date.now() || chance < 0.02) {
      counts.failed += 1;
      return void response.writeHead(503).end();
    }
    // Lost on the way there, or on the way back.
    if (chance < 0.025) return void response.destroy();
    const is_lost = chance < 0.035;
    const own = arrivals.get(path) ?? [];
    arrivals.set(path, own);
    const keys = kept.get(path) ?? new Map<string, number>();
    kept.set(path, keys);
    for (const { messageId: uuid, properties } of events) {
      own.push({ uuid, number: properties.number, at: Date.now(), is_lost });
      if (!keys.has(uuid)) keys.set(uuid, properties.number);
    }
    if (!is_lost) return void response.writeHead(200).end();
    counts.lost += 1;
    response.destroy();
  };
  const forgetting = openForgetting();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOf(request);
    if (request.url!.includes('/integration/')) return forgetting.take(response, text);
    const body = JSON.parse(text) as Sent | Sent[];
    answer(response, request.url!.slice(1), [body].flat());
  };
  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  const { port, close } = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    kept,
    forgetting,
    counts,
    outage: (path, milliseconds) => void down.set(path, Date.now() + milliseconds),
    heal: () => {
      isKind = true;
      down.clear();
    },
    close,
  };
}
