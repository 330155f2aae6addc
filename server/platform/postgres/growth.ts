import type pg from 'pg';

/** Who has waited so long for another one's connection opens one beside it. */
const wait_ms_max = 100;

/**
 * Gives out the connections of a pool that has no other user, and lets it open one at a time: who
 * finds all of them taken while one is being opened waits, at most a tenth of a second, for the
 * first that is given back. To open one takes more of the processor than most statements, so that
 * many at once, when requests have piled up, hold those up that are being answered.
 */
export function openGrowth(pool: pg.Pool, connections_max: number): () => Promise<pg.PoolClient> {
  let taken = 0;
  let opening = 0;
  const waiting: (() => void)[] = [];
  const isCrowded = () =>
    opening > 0 && taken >= pool.totalCount && pool.totalCount < connections_max;
  /** Takes one; true where the pool has to open it. */
  const take = () => {
    const opens = taken >= pool.totalCount;
    taken += 1;
    if (opens) opening += 1;
    return opens;
  };
  const letIn = () => {
    while (waiting.length > 0 && !isCrowded()) waiting.shift()!();
  };
  const turn = () =>
    new Promise<boolean>((resolve) => {
      const enter = () => {
        clearTimeout(timer);
        resolve(take());
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(enter), 1);
        enter();
      }, wait_ms_max);
      waiting.push(enter);
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
