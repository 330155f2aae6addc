import { stopError } from '../model/destination/stop.ts';

/** The memory of the analytics store that all custom queries of this process share. */
export type QueryBudget = {
  readonly bytes_total: number;
  /**
   * Waits until this much is free for a query of the project, and resolves with the function that
   * releases it. Guarantee: reservations never exceed the total, and those of one project never
   * exceed half of it (but one query is always allowed). Waiting queries are served in order, but
   * the limit of one project delays no other. Rejects if the signal aborts first.
   */
  take(team_id: number, bytes: number, signal: AbortSignal): Promise<() => void>;
};

type Waiting = { team_id: number; bytes: number; start(): void };

/**
 * Opens a budget of this many bytes. A query that may need more than the budget counts as all of
 * it.
 */
export function openQueryBudget(bytes_total: number): QueryBudget {
  const waiting = new Set<Waiting>();
  const out = new Map<number, number>();
  let free = bytes_total;
  const mayStart = ({ team_id, bytes }: Waiting): boolean => {
    const own = out.get(team_id) ?? 0;
    return bytes <= free && (own === 0 || own + bytes <= bytes_total / 2);
  };
  const serve = (): void => {
    for (const entry of waiting) {
      // Nobody may overtake a query that waits for memory, or a large query would wait for ever.
      if (entry.bytes > free) return;
      if (!mayStart(entry)) continue;
      waiting.delete(entry);
      free -= entry.bytes;
      out.set(entry.team_id, (out.get(entry.team_id) ?? 0) + entry.bytes);
      entry.start();
    }
  };
  const giveBack = ({ team_id, bytes }: Waiting): void => {
    free += bytes;
    const own = (out.get(team_id) ?? 0) - bytes;
    if (own === 0) out.delete(team_id);
    else out.set(team_id, own);
    serve();
  };
  return {
    bytes_total,
    take: (team_id, asked, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(stopError(signal));
        const onAbort = (): void => {
          waiting.delete(entry);
          reject(stopError(signal));
          serve();
        };
        let isOut = true;
        const entry: Waiting = {
          team_id,
          bytes: Math.min(asked, bytes_total),
          start: () => {
            signal.removeEventListener('abort', onAbort);
            resolve(() => {
              if (isOut) giveBack(entry);
              isOut = false;
            });
          },
        };
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.add(entry);
        serve();
      }),
  };
}
