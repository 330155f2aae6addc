import type { FastifyRequest } from 'fastify';
import { isDatabaseError } from '../../postgres/database.ts';
import type { HttpContext } from '../context.ts';
import { innerCall } from '../inner/inner_call.ts';
import { openBounds } from './bounds.ts';
import { eventOf, lineOf, sentenceOf } from './security_event.ts';
import type { SecurityEvent } from './security_event.ts';
import { insertSecurityEvents } from './store.ts';
import type { Refusal } from './words.ts';

/** So many events wait for the database at most, while it is away; then the oldest are let go. */
const waiting_max = 5_000;
const written_at_once = 500;

/** The security log of a process. */
export type SecurityLog = {
  /** Takes an event: its line is written now, its row with the next `flush`. Never throws. */
  take(event: SecurityEvent): void;
  /** Writes the rows that wait, and what was only counted. Rejects when the store is away. */
  flush(): Promise<void>;
  /** Tells what was only counted until now, and writes the rows. */
  close(): Promise<void>;
};

declare module 'fastify' {
  interface FastifyInstance {
    securityLog: SecurityLog;
  }
}

/**
 * Opens the security log: a line in the server's log, a count in the metrics and rows in the lists
 * of whom it concerns, for each event within the bounds. Rows are written beside the requests, so
 * that a refusal which rolls its transaction back is kept, and none fails or waits for it.
 */
export function openSecurityLog({
  db,
  clock,
  log,
  metrics,
}: Pick<HttpContext, 'db' | 'clock' | 'log' | 'metrics'>): SecurityLog {
  const bounds = openBounds();
  let waiting: SecurityEvent[] = [];
  const tell = (event: SecurityEvent) => {
    const { said, level } = sentenceOf(event);
    log[level](lineOf(event), said);
    waiting.push(event);
  };
  const write = async () => {
    if (waiting.length > waiting_max) {
      log.warn({ dropped: waiting.length - waiting_max }, 'security events could not be kept');
      waiting = waiting.slice(-waiting_max);
    }
    while (waiting.length > 0) {
      const lot = waiting.slice(0, written_at_once);
      try {
        await insertSecurityEvents(db, lot, clock.now());
      } catch (error) {
        // What a column cannot hold, it cannot hold later either.
        if (!isDatabaseError(error) || !error.code.startsWith('22')) throw error;
        log.error({ err: error, dropped: lot.length }, 'security events could not be kept');
      }
      // More may have come meanwhile, behind these.
      waiting = waiting.slice(lot.length);
    }
  };
  let under_way: Promise<void> = Promise.resolve();
  // One after the other, so that nothing is written twice.
  const writeInTurn = () => (under_way = under_way.catch(() => undefined).then(write));
  return {
    take: (event) => {
      metrics.security_events.inc({ event: event.event });
      if (bounds.letsThrough(event)) tell(event);
    },
    flush: async () => {
      for (const event of bounds.takeCounted(clock.now())) tell(event);
      await writeInTurn();
    },
    close: async () => {
      for (const event of bounds.takeAll()) tell(event);
      await writeInTurn();
    },
  };
}

/**
 * Notes what a request was refused, or did, in the security log. A request of the server to itself
 * is a part of one that is noted by itself.
 */
export function noteSecurity(request: FastifyRequest, refusal: Refusal): void {
  if (innerCall() !== undefined) return;
  const { securityLog, context } = request.server;
  securityLog.take(eventOf(request, refusal, context.clock.now()));
}
