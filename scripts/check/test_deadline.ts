/**
 * Loaded into every test process. Node's own time-out ends a test. Without this, a process whose
 * tests are over would wait forever for an open timer, socket or child; this ends it, and prints
 * what it holds.
 */
import process from 'node:process';

let deadline: NodeJS.Timeout | undefined;

/** Ends this process after this many seconds, instead of the time of an earlier call. */
export function endAfter(seconds: number): void {
  clearTimeout(deadline);
  deadline = setTimeout(() => {
    console.error(
      `This test process goes on ${seconds} s after it should have ended. Still open: ` +
        `${process.getActiveResourcesInfo().join(', ') || 'nothing'}.`,
    );
    process.exit(1);
  }, seconds * 1000).unref();
}
