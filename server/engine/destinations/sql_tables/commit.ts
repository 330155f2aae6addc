import type { Manifest } from '../../model/destination/destination.ts';
import type { Standing } from './staged_sink.ts';

/**
 * The proof in the answer to a COMMIT. `rolled_back`: the server undid the transaction. `ended`:
 * the transaction has ended, and only the receipt shows how. `nothing`: no answer came, or one that
 * leaves the transaction open or its end unknown.
 */
export type CommitAnswer = 'rolled_back' | 'ended' | 'nothing';

/** A commit, and the judgement of its fault. */
export type Commit = {
  commit(): Promise<unknown>;
  /** Judges the error that `commit` has thrown. */
  answerOf(error: unknown): CommitAnswer | Promise<CommitAnswer>;
  /** Reads back, after the transaction, whether the receipt is the one that it wrote. */
  isThere?(manifest: Manifest): Promise<boolean>;
};

/**
 * Commits, and keeps `may_show` correct. From the first byte on, the table may show the delivery.
 * An error only takes that back if the answer, or the receipt read back, proves that the
 * transaction was undone. If the receipt exists, the error is harmless.
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
