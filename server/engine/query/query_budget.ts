import { stopError } from '../model/destination/stop.ts';

/** The memory of the analytics store that all custom queries of this process share. */
export type QueryBudget = {
  readonly bytes_total: number;
  /**
   * Resolves when so much is free for a query of the project, with a function that gives it back.
   * Guarantee: what is out is never more than the total, and that of one project never more than
   * half of it (but always one query); who waits is served in the order of asking, except that one
   * project's limit keeps no other waiting. Rejects when the signal is aborted first.
   */
  take(team_id: number, bytes: number, signal: AbortSignal): Promise<() => void>;
};

type Waiting = { team_id: number; bytes: number; start(): void };

/** A budget of so many bytes. A query that may take more than all of it counts as all of it. */
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
      // Nobody behind passes one who waits for memory, or a large query would wait for ever.
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
