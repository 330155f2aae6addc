import type { FastifyInstance } from 'fastify';
import sql from 'sql-template-tag';
import { startChores } from '../../pacing/chores.ts';
import type { Chore } from '../../pacing/chores.ts';
import { isoInstant } from '../../clock.ts';
import type { HttpContext } from '../context.ts';
import { replay_ms } from '../idempotency.ts';

const synchronise_interval_ms = 1_000;
const sweep_interval_ms = 10 * 60_000;
const counts_kept_ms = 2 * 3_600_000;

/**
 * While the server runs, shares rate counts once a second and removes expired rows every ten
 * minutes. A fault is logged and retried.
 */
export function startHousekeeping(app: FastifyInstance, context: HttpContext): void {
  const chores: Chore[] = [
    {
      name: 'the sharing of rate counts',
      interval_ms: synchronise_interval_ms,
      work: () => app.limiter.synchronise(),
    },
    {
      name: 'the removal of old rate counts and idempotency keys',
      interval_ms: sweep_interval_ms,
      work: () => sweep(context),
    },
  ];
  let running: ReturnType<typeof startChores> | undefined;
  app.addHook('onReady', (done) => {
    running = startChores(chores, context.log);
    done();
  });
  app.addHook('onClose', async () => running?.stop());
}

/**
 * Removes idempotency keys older than 24 h and rate counts older than both windows. Uses the
 * indexes by age.
 */
export async function sweep(context: HttpContext): Promise<void> {
  const now = context.clock.now();
  const before = isoInstant(now - replay_ms);
  await context.db.run(sql`DELETE FROM idempotency_keys WHERE created_at < ${before}::timestamptz`);
  await context.db.run(
    sql`DELETE FROM service_idempotency_keys WHERE created_at < ${before}::timestamptz`,
  );
  await context.db.run(
    sql`DELETE FROM rate_counts WHERE window_start <
      ${isoInstant(now - counts_kept_ms)}::timestamptz`,
  );
}
