import type { Database, Transaction } from '../postgres/database.ts';
import type { Afterwards, Effect } from '../http/write.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { appendActivity, server_actor } from './chain.ts';
import type { Activity, Chain } from './chain.ts';

/** An entry of the server in a log. */
export type Told = { chain: Chain; entry: Activity };

/**
 * Tells of all that is due, each in a transaction of its own: `tell` takes one, writes its mails
 * and gives its entry, or undefined when none is due. Gives how many there were.
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
