import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { StoreAwayError } from '../../platform/store_away.ts';

// Time for checking the store after a failed insert, in milliseconds.
const inquiry_ms_max = 3_000;
/** Time limit for one answer. */
const answer_ms_max = 5_000;
/** The pause between two checks. */
export const inquiry_pause_ms = 50;
// Checked several times, because a statement that was sent just before its sender died may start
// later.
const quiet_answers_min = 3;
// A server shows the client's id; the embedded store has it in `log_comment`.
const isOfBatch =
  "(startsWith(query_id, {batch:String}) OR startsWith(Settings['log_comment'], {batch:String}))";

/**
 * Makes one node end its work on the batch. Returns true when it has ended, so that no more rows
 * can appear. Returns false if the store does not confirm it in time, also if it hangs. Keeps
 * waiting for a store that answers slowly.
 */
export async function endBatch(
  clickhouse: ClickHouse,
  batchId: string,
  answer_ms = answer_ms_max,
): Promise<boolean> {
  const deadline = performance.now() + Math.min(answer_ms, inquiry_ms_max);
  let quiet = 0;
  for (;;) {
    const late = AbortSignal.timeout(answer_ms);
    try {
      const running = await orLate(isRunning(clickhouse, batchId, late), late);
      quiet = running ? 0 : quiet + 1;
      if (quiet === quiet_answers_min) return true;
      if (running) await orLate(endQueries(clickhouse, batchId, late), late);
    } catch {
      // The store may be restarting, so the check is repeated until the deadline.
      quiet = 0;
    }
    if (quiet === 0 && performance.now() > deadline) return false;
    await new Promise((resume) => setTimeout(resume, inquiry_pause_ms));
  }
}

/**
 * Stops waiting at the deadline, even for an answer that has begun and does not end: the client's
 * own abort misses that.
 */
export async function orLate<Result>(work: Promise<Result>, late: AbortSignal): Promise<Result> {
  work.catch(() => undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  const tell = () => reject(new StoreAwayError('The analytics store did not answer in time.'));
  if (late.aborted) tell();
  late.addEventListener('abort', tell, { once: true });
  return Promise.race([work, promise]).finally(() => late.removeEventListener('abort', tell));
}

async function isRunning(
  clickhouse: ClickHouse,
  batchId: string,
  abort_signal: AbortSignal,
): Promise<boolean> {
  const found = await clickhouse.rows<{ running: number }>({
    query: `SELECT count() AS running FROM system.processes WHERE ${isOfBatch}`,
    query_params: { batch: batchId },
    abort_signal,
  });
  return Number(found[0]?.running) > 0;
}

async function endQueries(
  clickhouse: ClickHouse,
  batchId: string,
  abort_signal: AbortSignal,
): Promise<void> {
  await clickhouse.command({
    query: `KILL QUERY WHERE ${isOfBatch} ASYNC`,
    query_params: { batch: batchId },
    abort_signal,
  });
}
