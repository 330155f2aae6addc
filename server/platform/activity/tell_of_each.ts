import type { Database, Transaction } from '../postgres/database.ts';
import type { Afterwards, Effect } from '../http/write.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { appendActivity, server_actor } from './chain.ts';
import type { Activity, Chain } from './chain.ts';

/** An entry of the server in a log. */
export type Told = { chain: Chain; entry: Activity };

/**
 * Reports everything that is due, each in its own transaction: `tell` takes one, writes its mails
 * and returns its entry, or undefined if none is due. Returns the number of reports.
 */
export async function tellOfEach(
  { db, secrets }: { db: Database; secrets: Secrets },
  signal: AbortSignal | undefined,
  tell: (place: { tx: Transaction; afterwards: Afterwards }) => Promise<Told | undefined>,
): Promise<number> {
  let told = 0;
  while (signal?.aborted !== true) {
    const effects: Effect[] = [];
    const due = await db.transaction(async (tx) => {
      const found = await tell({ tx, afterwards: (effect) => void effects.push(effect) });
      if (found !== undefined)
        await appendActivity(tx, secrets, found.chain, server_actor, found.entry);
      return found;
    });
    if (due === undefined) break;
    for (const effect of effects) await effect();
    told += 1;
  }
  return told;
}
