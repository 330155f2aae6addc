import { records } from './commits.ts';
import type { CommitCase, CommitScene } from './commits.ts';

/** The consequence for the run and the ledger. */
export type Expected = Pick<CommitCase, 'run' | 'code' | 'ledger'>;

/** The run ends with this code, and its rows are not delivered. */
export const refused = (run: CommitCase['run'], code: string): Expected => ({
  run,
  code,
  ledger: 'nothing',
});

/** The receipt was found. */
export const delivered: Expected = { run: 'Completed', code: null, ledger: 'delivered' };

/** The outcome stayed uncertain. */
export const uncertain = (code: string): Expected => ({
  run: 'FailedRetryable',
  code,
  ledger: 'uncertain',
});

/** Cases of a destination: each answer, the fault that gives it, and what follows. */
export function struckCases<Fault extends { reaches: boolean }>(
  destination: string,
  place: () => Promise<Omit<CommitScene, 'strike' | 'lift'>>,
  strike: (fault: Fault | undefined) => void,
  faults: [answer: string, Fault, Expected][],
): CommitCase[] {
  return faults.map(([answer, fault, expected]) => ({
    destination,
    answer,
    server: fault.reaches ? 'committed' : 'rolled back',
    ...expected,
    backfill: fault.reaches ? 0 : records,
    prepare: async () => ({
      ...(await place()),
      strike: async () => strike(fault),
      lift: async () => strike(undefined),
    }),
  }));
}
