import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8's young generation at the size that it has, while `work` goes on. Nearly all that a
 * start allocates stays, for which V8 would let it grow to 64 MB and never take them back. Then it
 * grows again with what the process does.
 */
export async function withSmallYoungHeap<Result>(work: () => Promise<Result>): Promise<Result> {
  keepYoungHeapSmall();
  try {
    return await work();
  } finally {
    setFlagsFromString('--semi-space-growth-factor=2');
  }
}

/** The same for good: for a process that passes bytes on and creates little else. */
export function keepYoungHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Lets this thread collect the young generation by itself. With helpers it waits for them, and on
 * cores that an export keeps busy they get their turn after tens of milliseconds; alone it takes
 * up to five.
 */
export function collectYoungHeapAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
}
