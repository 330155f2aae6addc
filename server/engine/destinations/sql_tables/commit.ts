import type { Manifest } from '../../model/destination/destination.ts';
import type { Standing } from './staged_sink.ts';

/**
 * The proof in the answer to a COMMIT. `rolled_back`: the server undid the transaction. `ended`:
 * the transaction is over, and only the receipt tells which way. `nothing`: no answer came, or one
 * that leaves the transaction open or its end unknown.
 */
export type CommitAnswer = 'rolled_back' | 'ended' | 'nothing';

/** A commit, and how its fault is judged. */
export type Commit = {
  commit(): Promise<unknown>;
  /** Judges the error that `commit` has thrown. */
  answerOf(error: unknown): CommitAnswer | Promise<CommitAnswer>;
  /** Reads back, once the transaction is over, whether the receipt is the one that it wrote. */
  isThere?(manifest: Manifest): Promise<boolean>;
};

/**
 * Commits, and keeps `may_show` right. From the first byte on the table may show the delivery; an
 * error takes that back only where the answer, or the receipt that is read back, proves that the
 * transaction was undone. A receipt that is there makes the error harmless.
 */
export async function commitKnowingly(
  standing: Standing,
  manifest: Manifest,
  { commit, answerOf, isThere }: Commit,
): Promise<void> {
  const mayShowBefore = standing.may_show;
  standing.may_show = true;
  try {
    await commit();
  } catch (error) {
    const answer = await answerOf(error);
    if (answer === 'nothing') throw error;
    const isShown = answer === 'ended' ? await isThere?.(manifest).catch(() => undefined) : false;
    if (isShown === true) return;
    if (isShown === false) standing.may_show = mayShowBefore;
    throw error;
  }
}
