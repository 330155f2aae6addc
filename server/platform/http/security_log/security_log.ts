import { setTimeout } from 'node:timers/promises';
import { isDatabaseError } from '../../postgres/database.ts';
import type { Database } from '../../postgres/database.ts';
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { openBounds } from './bounds.ts';
import { lineOf, sentenceOf } from './security_event.ts';
import type { SecurityEvent } from './security_event.ts';
import { insertSecurityEvents } from './store.ts';

/** Number of events that wait for an unreachable database; beyond it the oldest are dropped. */
const waiting_max = 5_000;
const written_at_once = 500;
const closing_ms_max = 3_000;

/** The security log of a process. */
export type SecurityLog = {
  /** Takes an event: its line is written now, its row with the next `flush`. Never throws. */
  take(event: SecurityEvent): void;
  /** Writes the rows that wait, and what was only counted. Rejects when the store is away. */
  flush(): Promise<void>;
  /** Tells what was only counted until now, and writes the rows. Never rejects. */
  close(): Promise<void>;
};

type Parts = { db: Database; clock: Clock; log: Logger; metrics: Metrics };

/**
 * Opens the security log: a line in the server's log, a count in the metrics and rows in the lists
 * of whom it concerns, for each event within the bounds. Rows are written beside the requests, so
 * that a refusal which rolls its transaction back is kept, and none fails or waits for it.
 */
export function openSecurityLog({ db, clock, log, metrics }: Parts): SecurityLog {
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
        // A value that a column cannot hold now, it cannot hold later either.
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
      // A store that is away holds nobody back: the lines are written.
      const given_up = setTimeout(closing_ms_max, undefined, { ref: false });
      await Promise.race([writeInTurn(), given_up]).catch((error: unknown) =>
        log.warn({ err: error }, 'the last security events could not be kept'),
      );
    },
  };
}
