import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8's young generation at its present size while `work` runs. Almost everything that a start
 * allocates stays, for which V8 would let it grow to 64 MB and never shrink it. Afterwards it grows
 * with the load of the process.
 */
export async function withSmallYoungHeap<Result>(work: () => Promise<Result>): Promise<Result> {
  keepYoungHeapSmall();
  try {
    return await work();
  } finally {
    setFlagsFromString('--semi-space-growth-factor=2');
  }
}

/** Does the same permanently: for a process that passes bytes on and creates little else. */
export function keepYoungHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Lets this thread collect the young generation alone. With helpers it waits for them, and on cores
 * that an export keeps busy they run after tens of milliseconds; alone it takes up to five.
 */
export function collectYoungHeapAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
}
