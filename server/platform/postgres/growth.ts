import type pg from 'pg';

/** Wait for a free connection before another one is opened, also while one is being opened. */
const wait_ms = 20;
const wait_ms_max = 100;

/**
 * Time for which an unused connection stays. The loops of a server keep a few open, with prepared
 * statements, which pages find. More than these cost 10 MB each.
 */
export const idle_ms = 15_000;

/**
 * Gives out the connections of a pool that has no other user, and lets it open one at a time, and
 * only where none is given back within a moment: who finds all of them taken waits for the first
 * that is, 20 ms, and at most a tenth of a second while one is being opened. To open one takes more
 * of the processor than most statements, so that many at once, when requests have piled up, hold
 * those up that are being answered; and it prepares all its statements anew.
 */
export function openGrowth(pool: pg.Pool, connections_max: number): () => Promise<pg.PoolClient> {
  let taken = 0;
  let opening = 0;
  const waiting: { enter(): void; isDue: boolean }[] = [];
  const isCrowded = () =>
    taken > 0 && taken >= pool.totalCount && pool.totalCount < connections_max;
  /** Takes one; true where the pool has to open it. */
  const take = () => {
    const opens = taken >= pool.totalCount;
    taken += 1;
    if (opens) opening += 1;
    return opens;
  };
  /** Lets those in who need not wait, and one who has waited where none is being opened. */
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
