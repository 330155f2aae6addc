import { fromText, platform, toText } from './bridge.ts';
import { RetryError } from './retry_error.ts';

// `origin` knows where in the plugin the request was made: the answer comes on a stack of its own.
type Waiting = { resolve(value: unknown): void; reject(error: Error): void; origin: Error };

let last = 0;
const open: Record<number, Waiting> = Object.create(null) as Record<number, Waiting>;

/**
 * Asks the server for a service. Rejects with a RetryError when the service is not to be had now,
 * and with an Error when the request itself is refused.
 */
export function request(name: string, parameters: unknown[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const number = (last += 1);
    const text = toText(parameters);
    open[number] = { resolve, reject, origin: new Error() };
    const refusal = platform.send('request', number, name, text);
    if (refusal === '') return;
    delete open[number];
    reject(new Error(refusal));
  });
}

/**
 * The stack of the request that has been open longest, or an empty text: that is what a call waits
 * for.
 */
export function stackOfOldest(): string {
  const [oldest] = Object.values(open);
  return oldest === undefined ? '' : String(oldest.origin.stack);
}

/** Hands a request its answer: the result, or the name and message of an error. */
export function settle(number: number, isOk: boolean, text: string): void {
  const waiting = open[number];
  if (waiting === undefined) return;
  delete open[number];
  const answer = fromText(text);
  if (isOk) {
    waiting.resolve(answer);
    return;
  }
  const { name, message } = answer as { name: string; message: string };
  const error = name === 'RetryError' ? new RetryError(message) : new Error(message);
  error.name = name;
  try {
    error.stack = `${name}: ${message}\n${String(waiting.origin.stack)}`;
  } catch {
    // A plugin can have said itself how a stack is written, and that can throw.
  }
  waiting.reject(error);
}
