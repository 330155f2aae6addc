import { randomUUID } from 'node:crypto';
import { rowDigest } from '../chaos/row_digest.ts';
import type { Balancer } from './balancer.ts';

/** Requests that come at a rate, whatever becomes of them. */
export type Load = {
  /** The digest of each event that was answered for, by uuid. */
  sent: Map<string, string>;
  /** `skipped` were not sent because too many were under way: the machine could not do more. */
  counts: { asked: number; skipped: number; wrong: number };
  /** Requests for which no retry helped. */
  failed: string[];
  /** Ends when all were answered. */
  stop(): Promise<void>;
};

const tick_ms = 20;
const under_way_max = 256;

/**
 * Begins to send so many requests a second: of ten, seven read (the organization, exports, runs)
 * and three send an event.
 */
export function startLoad(balancer: Balancer, perSecond: number, exportIds: string[]): Load {
  const sent = new Map<string, string>();
  const counts = { asked: 0, skipped: 0, wrong: 0 };
  const failed: string[] = [];
  const under_way = new Set<Promise<void>>();
  const base = '/api/projects/@current/batch_exports/';
  const paths = ['/api/organizations/@current/', base].concat(
    exportIds.flatMap((id) => [`${base}${id}/`, `${base}${id}/runs/?limit=10`]),
  );
  const read = async (number: number) => {
    const path = paths[number % paths.length]!;
    const { status } = await balancer.ask('GET', path);
    if (status !== 200) counts.wrong += 1;
  };
  const send = async () => {
    const event = {
      uuid: randomUUID(),
      event: 'rolled',
      distinct_id: 'somebody',
      timestamp: new Date().toISOString(),
      properties: { number: counts.asked },
    };
    const path = '/api/projects/@current/events/';
    const { status } = await balancer.ask('POST', path, { events: [event] });
    if (status === 200) sent.set(event.uuid, rowDigest(event));
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
    sent,
    counts,
    failed,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(under_way);
    },
  };
}
