import type { Socket } from 'node:net';
import { RetryableError } from './errors.ts';

/**
 * Returns the rejection of a call whose signal is aborted: a retryable error for a time limit,
 * otherwise an error that only says that the work was stopped.
 */
export function stopError(signal: AbortSignal): Error {
  const { reason } = signal as { reason: unknown };
  if (reason instanceof Error && reason.name === 'TimeoutError')
    return new RetryableError(
      'timed_out',
      'The other side did not answer in time. Check that it is running, and that host, ' +
        'port and firewalls let this server reach it.',
      { cause: reason },
    );
  return new Error('The work was stopped.', { cause: reason });
}

/** Throws `stopError` when the signal is aborted already. */
export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw stopError(signal);
}

/**
 * Returns the outcome of `work`, or rejects with `stopError` if the signal aborts first. The
 * outcome is ignored then.
 */
export async function unlessStopped<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () => reject(stopError(signal));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Rejects with `stopError` when the signal aborts, and ends the connection. Removes its listener
 * from the signal when the connection has ended.
 */
export function stopOf(signal: AbortSignal, socket: Socket, end: () => void): Promise<never> {
  return new Promise<never>((_resolve, reject) => {
    const stop = () => {
      reject(stopError(signal));
      end();
    };
    signal.addEventListener('abort', stop, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', stop));
    if (signal.aborted) stop();
  });
}
