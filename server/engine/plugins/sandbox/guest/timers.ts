import { platform } from './bridge.ts';

let last = 0;
type Timer = { ring(): void; origin: Error };
const running: Record<number, Timer> = Object.create(null) as Record<number, Timer>;

/**
 * As in browsers, within a call: what still runs when the call ends is forgotten. Throws an Error
 * when too many run at a time.
 */
export function setTimeout(
  callback: (...parameters: unknown[]) => void,
  milliseconds: unknown = 0,
  ...parameters: unknown[]
): number {
  if (typeof callback !== 'function') throw new TypeError('setTimeout takes a function.');
  const number = (last += 1);
  const refusal = platform.send('timer', number, '', String(Number(milliseconds) || 0));
  if (refusal !== '') throw new Error(refusal);
  running[number] = { ring: () => callback(...parameters), origin: new Error() };
  return number;
}

/** Forgets a timer; without effect when there is none. */
export function clearTimeout(number: unknown): void {
  if (typeof number !== 'number' || running[number] === undefined) return;
  delete running[number];
  platform.send('clear', number, '', '');
}

/** Runs what a timer was set for. */
export function ring(number: number): void {
  const timer = running[number];
  delete running[number];
  timer?.ring();
}

/** The stack of the timer that was set first of those that run, or an empty text. */
export function stackOfTimer(): string {
  const [oldest] = Object.values(running);
  return oldest === undefined ? '' : String(oldest.origin.stack);
}

/** Forgets all timers, at the end of the last call. */
export function forgetTimers(): void {
  for (const number of Object.keys(running)) delete running[Number(number)];
}
