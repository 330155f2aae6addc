/**
 * Loaded into every test process. Node's own time-out ends a test, but a process whose tests are
 * over and that still holds a timer, a socket or a child open would be waited for without end: here
 * it is ended, and told what it holds.
 */
import process from 'node:process';

let deadline: NodeJS.Timeout | undefined;

/** Ends this process so many seconds from now, in place of what an earlier call said. */
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
