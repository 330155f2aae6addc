import sql from 'sql-template-tag';
import { isDatabaseError } from '../../server/platform/postgres/database.ts';
import type { Database, Queryable, Transaction } from '../../server/platform/postgres/database.ts';
import type { Actor } from './actor.ts';
import type { Turns } from './turns.ts';
import { requireVirtual } from './virtual_time.ts';

/**
 * The database for an actor: each statement, BEGIN and COMMIT waits for its turn. Statements of one
 * transaction keep their order.
 */
export function inTurns(db: Database, actor: Actor, turns: Pick<Turns, 'step'>): Database {
  return {
    ...db,
    ...eachInTurn(db, (label, work) => turns.step(actor, label, work)),
    transaction: (work) => inTransaction(db, { actor, turns }, work),
  };
}

type Step = <Result>(label: string, work: () => Promise<Result>) => Promise<Result>;

function eachInTurn(to: Queryable, step: Step): Queryable {
  return {
    rows: <Row>(one: { text: string; values: unknown[] }) =>
      step(labelOf(one.text), () => to.rows<Row>(one)),
    row: <Row>(one: { text: string; values: unknown[] }) =>
      step(labelOf(one.text), () => to.row<Row>(one)),
    run: (one) => step(labelOf(one.text), () => to.run(one)),
    text: (text, values) => step(labelOf(text), () => to.text(patient(text), values)),
  };
}

/** Lets a statement wait a minute for a lock, because a machine under load is slow. */
function patient(text: string): string {
  return text.replace(/lock_timeout = '\d+s'/, "lock_timeout = '60s'");
}

function labelOf(text: string): string {
  requireVirtual(text);
  return text.trim().replaceAll(/\s+/g, ' ').slice(0, 70);
}

async function inTransaction<Result>(
  db: Database,
  { actor, turns }: { actor: Actor; turns: Pick<Turns, 'step'> },
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const opened = Promise.withResolvers<Transaction>();
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined);
  let whole: Promise<void> | undefined;
  const open = (): Promise<Transaction> => {
    whole = db.transaction(async (tx) => {
      // Records the instant at which `now()` stands still.
      await tx.row(sql`SELECT now()`);
      opened.resolve(tx);
      await ended.promise;
    });
    return Promise.race([opened.promise, whole.then(() => opened.promise)]);
  };
  let begun = 0;
  try {
    const tx = await turns.step(actor, 'BEGIN', () => {
      begun = 1;
      actor.transactions += 1;
      return open();
    });
    let last: Promise<unknown> = Promise.resolve();
    const step: Step = (label, ask) => {
      const asked = last.then(() => turns.step(actor, label, ask));
      last = asked.catch(() => undefined);
      return asked;
    };
    const result = await work({ ...tx, ...eachInTurn(tx, step) });
    await last;
    await turns.step(actor, 'COMMIT', async () => {
      ended.resolve();
      await whole;
    });
    return result;
  } catch (error) {
    ended.reject(error);
    const rolledBack = whole?.catch((fault: unknown) => {
      // A fault of the end itself is the answer to COMMIT, which was reported already.
      if (fault !== error && !isDatabaseError(fault)) throw fault;
    });
    await rolledBack;
    throw error;
  } finally {
    actor.transactions -= begun;
  }
}
