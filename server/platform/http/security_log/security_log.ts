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

/** Most events that wait for an unreachable database; beyond it the oldest are dropped. */
const waiting_max = 5_000;
const written_at_once = 500;
const closing_ms_max = 3_000;

/** The security log of a process. */
export type SecurityLog = {
  /** Takes an event: its line is written now, its row with the next `flush`. Never throws. */
  take(event: SecurityEvent): void;
  /** Writes the waiting rows and the counted events. Rejects if the store is unavailable. */
  flush(): Promise<void>;
  /** Reports the counted events, and writes the rows. Never rejects. */
  close(): Promise<void>;
};

type Parts = { db: Database; clock: Clock; log: Logger; metrics: Metrics };

/**
 * Opens the security log: a line in the server's log, a count in the metrics and rows in the lists
 * of the affected parties, for each event within the limits. Rows are written outside the requests,
 * so that a refusal survives the rollback of its transaction, and requests neither fail nor wait
 * because of it.
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
        // A value that a column cannot store now will never fit.
        if (!isDatabaseError(error) || !error.code.startsWith('22')) throw error;
        log.error({ err: error, dropped: lot.length }, 'security events could not be kept');
      }
      // More may have been appended meanwhile.
      waiting = waiting.slice(lot.length);
    }
  };
  let under_way: Promise<void> = Promise.resolve();
  // Chained, so that nothing is written twice.
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
      // An unavailable store does not delay the end: the lines are written.
      const given_up = setTimeout(closing_ms_max, undefined, { ref: false });
      await Promise.race([writeInTurn(), given_up]).catch((error: unknown) =>
        log.warn({ err: error }, 'the last security events could not be kept'),
      );
    },
  };
}
