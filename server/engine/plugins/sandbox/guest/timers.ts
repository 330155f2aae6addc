import { platform } from './bridge.ts';

let last = 0;
type Timer = { ring(): void; origin: Error };
const running: Record<number, Timer> = Object.create(null) as Record<number, Timer>;

/**
 * As in browsers, but within a call: timers that still run at its end are dropped. Throws an Error
 * if too many run at a time.
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

/** Stops a timer; does nothing if it does not exist. */
export function clearTimeout(number: unknown): void {
  if (typeof number !== 'number' || running[number] === undefined) return;
  delete running[number];
  platform.send('clear', number, '', '');
}

/** Runs a timer's function. */
export function ring(number: number): void {
  const timer = running[number];
  delete running[number];
  timer?.ring();
}

/** Returns the stack of the oldest running timer, or an empty text. */
export function stackOfTimer(): string {
  const [oldest] = Object.values(running);
  return oldest === undefined ? '' : String(oldest.origin.stack);
}

/** Stops all timers, at the end of the last call. */
export function forgetTimers(): void {
  for (const number of Object.keys(running)) delete running[Number(number)];
}
