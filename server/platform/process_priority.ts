import { setPriority } from 'node:os';

/**
 * Lets the API and PostgreSQL, which answer in milliseconds when they get the processor at once, go
 * before this process: to be called before it has made threads, which have what the first one has.
 * The higher the number (1 to 19), the further it stands back; alone on the machine it is as fast
 * as ever. A system that does not allow it does without.
 */
export function lowerPriority(niceness: number): void {
  try {
    setPriority(niceness);
  } catch {
    // Nothing depends on it but how long others wait.
  }
}
