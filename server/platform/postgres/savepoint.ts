/** The operations of an open transaction that this file uses. */
type Open = { text(text: string): Promise<unknown> };

/** State of a joined transaction: its depth of savepoints, and the number of open ones. */
type Savepoints = { depth: number; left: number };

const savepoints = new WeakMap<Open, Savepoints>();

/**
 * Runs `work` in a savepoint of the transaction: its changes are rolled back if it throws. A
 * successful savepoint stays open until the next one at its place begins, or the enclosing one
 * ends: this saves a round trip for each of many.
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
    // If the connection is lost, so is the whole transaction, and its owner gets the error.
    await tx
      .text(`ROLLBACK TO SAVEPOINT ${name}; RELEASE SAVEPOINT ${name}`)
      .catch(() => undefined);
    throw error;
  } finally {
    at.depth = depth - 1;
  }
}
