import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { listenLocally } from '../../../test/servers/loopback.ts';
import type { Random } from '../../../test/chaos/random.ts';

/**
 * The arrival of an event at a path. The campaign knows it by `number`, and the tool recognizes
 * repeats by `uuid`. `is_lost`: it was accepted, and the answer was lost.
 */
export type Arrival = { uuid: string; number: number; at: number; is_lost: boolean };

/** An event in the form of this campaign. */
type Sent = { messageId: string; properties: { number: number } };

/** The receiver's part for a tool that can forget persons. */
type Forgetting = {
  /** Ids in its events, and the number of requests to forget each. */
  remembered: Set<string>;
  deletions: Map<string, number>;
  /** Called with each such request, before the answer. */
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

/**
 * A receiver that records all events, and fails as vendors do until the faults are switched off.
 */
export type Receiver = {
  url: string;
  /** Accepted events, by path, in order. */
  arrivals: Map<string, Arrival[]>;
  /** The events of a tool that recognizes repeats by a key: by path, the numbers by key. */
  kept: Map<string, Map<string, number>>;
  forgetting: Forgetting;
  close(): Promise<void>;
};

/**
 * The end of a request: the limit, an outage, a cut before or after the request is accepted, or
 * none of these.
 */
export type Fate = 'limited' | 'failed' | 'cut' | 'lost' | 'taken';

/** The fates of requests, and how often each occurred. */
export type Fates = {
  fateOf(path: string): Fate;
  counts: { requests: number; lost: number; failed: number; limited: number };
  /** Lets the requests to a path fail for this time. */
  outage(path: string, milliseconds: number): void;
  heal(): void;
};

const limit_per_minute = 750;

/** Counts requests by the minute of the clock; returns true over the limit. */
function openLimit(): () => boolean {
  let [minute, used] = [0, 0];
  return () => {
    const present = Math.floor(Date.now() / 60_000);
    if (present !== minute) [minute, used] = [present, 0];
    used += 1;
    return used > limit_per_minute;
  };
}

/** Draws fates; the path `limited` accepts 750 requests a minute. */
export function openFates(random: Random, limited: string): Fates {
  const counts = { requests: 0, lost: 0, failed: 0, limited: 0 };
  const down = new Map<string, number>();
  const isOverLimit = openLimit();
  let isKind = false;
  const draw = (path: string): Fate => {
    if (path === limited && isOverLimit()) return 'limited';
    const chance = isKind ? 1 : random.next();
    if ((down.get(path) ?? 0) > Date.now() || chance < 0.02) return 'failed';
    if (chance < 0.025) return 'cut';
    return chance < 0.035 ? 'lost' : 'taken';
  };
  return {
    fateOf: (path) => {
      counts.requests += 1;
      const fate = draw(path);
      if (fate !== 'cut' && fate !== 'taken') counts[fate] += 1;
      return fate;
    },
    counts,
    outage: (path, milliseconds) => void down.set(path, Date.now() + milliseconds),
    heal: () => {
      isKind = true;
      down.clear();
    },
  };
}

/** Records accepted events of a path. */
export function noteArrivals(
  { arrivals }: Pick<Receiver, 'arrivals'>,
  path: string,
  events: Pick<Arrival, 'uuid' | 'number'>[],
  is_lost: boolean,
): void {
  const own = arrivals.get(path) ?? [];
  arrivals.set(path, own);
  for (const { uuid, number } of events) own.push({ uuid, number, at: Date.now(), is_lost });
}

/** Records the keys by which a tool knows the events of a path. */
export function noteKeys(
  { kept }: Pick<Receiver, 'kept'>,
  path: string,
  events: [key: string, number: number][],
): void {
  const keys = kept.get(path) ?? new Map<string, number>();
  kept.set(path, keys);
  for (const [key, number] of events) if (!keys.has(key)) keys.set(key, number);
}

/** Opens the receiver of webhooks. */
export async function openReceiver({ fateOf }: Fates): Promise<Receiver> {
  const notes = { arrivals: new Map<string, Arrival[]>(), kept: new Map() };
  const answer = (response: ServerResponse, path: string, events: Sent[]): void => {
    const fate = fateOf(path);
    if (fate === 'limited') {
      const seconds = 60 - (Math.floor(Date.now() / 1_000) % 60);
      return void response.writeHead(429, { 'retry-after': String(seconds) }).end();
    }
    if (fate === 'failed') return void response.writeHead(503).end();
    if (fate === 'cut') return void response.destroy();
    const all = events.map(({ messageId, properties: { number } }) => ({
      uuid: messageId,
      number,
    }));
    noteArrivals(notes, path, all, fate === 'lost');
    noteKeys(
      notes,
      path,
      all.map(({ uuid, number }) => [uuid, number]),
    );
    if (fate === 'lost') response.destroy();
    else response.writeHead(200).end();
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
  return { url: `http://127.0.0.1:${port}`, ...notes, forgetting, close };
}
