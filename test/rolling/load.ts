import { randomUUID } from 'node:crypto';
import { rowDigest } from '../chaos/row_digest.ts';
import type { Balancer } from './balancer.ts';

/** Requests at a fixed rate, whatever their outcome. */
export type Load = {
  /** The digest of each acknowledged event, by uuid. */
  digests(): Map<string, string>;
  /** `skipped` requests were not sent, because too many were in progress for the machine. */
  counts: { asked: number; skipped: number; wrong: number };
  /** Requests for which no retry helped. */
  failed: string[];
  /** Ends after the last answer. */
  stop(): Promise<void>;
};

const tick_ms = 20;
// A few seconds of the rate: the client shares the cores with all that it calls.
const under_way_max = 1_024;

/**
 * Starts to send this many requests a second: of ten, seven read (the organization, exports, runs)
 * and three send an event.
 */
export function startLoad(balancer: Balancer, perSecond: number, exportIds: string[]): Load {
  const sent: ReturnType<typeof newEvent>[] = [];
  const counts = { asked: 0, skipped: 0, wrong: 0 };
  const failed: string[] = [];
  const under_way = new Set<Promise<void>>();
  const base = '/api/projects/@current/batch_exports/';
  const paths = ['/api/organizations/@current/', base].concat(
    exportIds.flatMap((id) => [`${base}${id}/`, `${base}${id}/runs/?limit=10`]),
  );
  const read = async (number: number) => {
    const path = paths[number % paths.length]!;
    const status = await balancer.send('GET', path);
    if (status !== 200) counts.wrong += 1;
  };
  const send = async () => {
    const event = newEvent(counts.asked);
    const body = JSON.stringify({ events: [event] });
    const status = await balancer.send('POST', '/api/projects/@current/events/', body);
    if (status === 200) sent.push(event);
    else counts.wrong += 1;
  };
  const one = (number: number) => {
    if (under_way.size >= under_way_max) {
      counts.skipped += 1;
      return;
    }
    counts.asked += 1;
    const work = (number % 10 < 7 ? read(number) : send())
      .catch((error: unknown) => void failed.push(String(error)))
      .finally(() => under_way.delete(work));
    under_way.add(work);
  };
  const began = performance.now();
  let due = 0;
  const timer = setInterval(() => {
    const until = ((performance.now() - began) / 1000) * perSecond;
    for (; due < until; due += 1) one(due);
  }, tick_ms);
  return {
    digests: () => new Map(sent.map((event) => [event.uuid, rowDigest(event)])),
    counts,
    failed,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(under_way);
    },
  };
}

function newEvent(number: number) {
  return {
    uuid: randomUUID(),
    event: 'rolled',
    distinct_id: 'somebody',
    timestamp: new Date().toISOString(),
    properties: { number },
  };
}
