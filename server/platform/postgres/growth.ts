import type pg from 'pg';

/** Wait for a free connection before another one is opened, also during an opening. */
const wait_ms = 20;
const wait_ms_max = 100;

/**
 * Time for which an unused connection stays. The loops of a server keep a few open, with prepared
 * statements, which pages reuse. Each further one costs 10 MB.
 */
export const idle_ms = 15_000;

/**
 * Assigns the connections of a pool that has no other user. The pool opens one at a time, and only
 * if none becomes free within a moment. Callers wait 20 ms for a free one, and at most a tenth of a
 * second during an opening. Opening one takes more processor time than most statements. If requests
 * pile up, many openings at once would delay the running requests; and a new connection prepares
 * all its statements again.
 */
export function openGrowth(pool: pg.Pool, connections_max: number): () => Promise<pg.PoolClient> {
  let taken = 0;
  let opening = 0;
  const waiting: { enter(): void; isDue: boolean }[] = [];
  const isCrowded = () =>
    taken > 0 && taken >= pool.totalCount && pool.totalCount < connections_max;
  /** Takes one; returns true if the pool has to open it. */
  const take = () => {
    const opens = taken >= pool.totalCount;
    taken += 1;
    if (opens) opening += 1;
    return opens;
  };
  /** Admits callers that need not wait, and one that has waited if none is being opened. */
  const letIn = () => {
    while (waiting.length > 0 && !isCrowded()) waiting.shift()!.enter();
    if (opening === 0 && waiting[0]?.isDue === true) waiting.shift()!.enter();
  };
  const turn = () =>
    new Promise<boolean>((resolve) => {
      const one = {
        isDue: false,
        enter: () => {
          clearTimeout(due);
          clearTimeout(late);
          resolve(take());
        },
      };
      const due = setTimeout(() => {
        one.isDue = true;
        letIn();
      }, wait_ms);
      const late = setTimeout(() => {
        waiting.splice(waiting.indexOf(one), 1);
        one.enter();
      }, wait_ms_max);
      waiting.push(one);
    });
  pool.on('release', () => {
    taken -= 1;
    letIn();
  });
  return async () => {
    const opens = waiting.length > 0 || isCrowded() ? await turn() : take();
    try {
      return await pool.connect();
    } catch (error) {
      taken -= 1;
      throw error;
    } finally {
      if (opens) opening -= 1;
      letIn();
    }
  };
}
