import type { FastifyInstance } from 'fastify';
import sql from 'sql-template-tag';
import { isoInstant } from '../clock.ts';
import type { HttpContext } from './context.ts';
import { replay_ms } from './idempotency.ts';

const synchronise_interval_ms = 1_000;
const sweep_interval_ms = 10 * 60_000;
const counts_kept_ms = 2 * 3_600_000;

/**
 * While the server runs: rate counts are shared once a second, and rows that no longer count are
 * removed every ten minutes. A fault is logged and tried again.
 */
export function keepHouse(app: FastifyInstance, context: HttpContext): void {
  let timers: NodeJS.Timeout[] = [];
  const every = (interval_ms: number, work: () => Promise<unknown>) => {
    let running = false;
    return setInterval(() => {
      if (running) return;
      running = true;
      work()
        .catch((error: unknown) =>
          context.log.warn({ err: error }, 'housekeeping of the API failed; it is tried again'),
        )
        .finally(() => (running = false));
    }, interval_ms).unref();
  };
  app.addHook('onReady', (done) => {
    timers = [
      every(synchronise_interval_ms, () => app.limiter.synchronise()),
      every(sweep_interval_ms, () => sweep(context)),
    ];
    done();
  });
  app.addHook('onClose', (_app, done) => {
    for (const timer of timers) clearInterval(timer);
    done();
  });
}

/**
 * Removes idempotency keys older than 24 h and rate counts older than both windows. Leans on the
 * indexes by age.
 */
export async function sweep(context: HttpContext): Promise<void> {
  const now = context.clock.now();
  await context.db.run(
    sql`DELETE FROM idempotency_keys WHERE created_at <
      ${isoInstant(now - replay_ms)}::timestamptz`,
  );
  await context.db.run(
    sql`DELETE FROM rate_counts WHERE window_start <
      ${isoInstant(now - counts_kept_ms)}::timestamptz`,
  );
}
