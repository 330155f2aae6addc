/** The operations of an open transaction that this file uses. */
type Open = { text(text: string): Promise<unknown> };

/** State of a joined transaction: its depth of savepoints, and how many were left open. */
type Savepoints = { depth: number; left: number };

const savepoints = new WeakMap<Open, Savepoints>();

/**
 * Does `work` in a savepoint of the transaction: what it did is taken back when it throws. One that
 * ends well is left open until the next one at its place begins, or the one around it
 * ends: a way to the server and back less for each of many.
 */
export async function inSavepoint<Transaction extends Open, Result>(
  tx: Transaction,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const at = savepoints.get(tx) ?? { depth: 0, left: 0 };
  savepoints.set(tx, at);
  const depth = at.depth + 1;
  const name = `joined_${depth}`;
  await tx.text(`${at.left < depth ? '' : `RELEASE SAVEPOINT ${name}; `}SAVEPOINT ${name}`);
  Object.assign(at, { depth, left: 0 });
  try {
    const result = await work(tx);
    at.left = depth;
    return result;
  } catch (error) {
    at.left = 0;
    // On a connection that is lost the whole transaction is, and its owner is told.
    await tx
      .text(`ROLLBACK TO SAVEPOINT ${name}; RELEASE SAVEPOINT ${name}`)
      .catch(() => undefined);
    throw error;
  } finally {
    at.depth = depth - 1;
  }
}
