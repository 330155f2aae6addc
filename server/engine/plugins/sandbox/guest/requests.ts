import { fromText, platform, toText } from './bridge.ts';
import { RetryError } from './retry_error.ts';

// `origin` is the place of the request in the plugin: the answer has its own stack.
type Waiting = { resolve(value: unknown): void; reject(error: Error): void; origin: Error };

let last = 0;
const open: Record<number, Waiting> = Object.create(null) as Record<number, Waiting>;

/**
 * Requests a service from the server. Rejects with a RetryError if the service is unavailable, and
 * with an Error if the request is refused.
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

/** Returns the stack of the longest open request, or an empty text: a call waits for that one. */
export function stackOfOldest(): string {
  const [oldest] = Object.values(open);
  return oldest === undefined ? '' : String(oldest.origin.stack);
}

/** Gives a request its answer: the result, or the name and message of an error. */
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
    // A plugin's own stack formatter can throw.
  }
  waiting.reject(error);
}
