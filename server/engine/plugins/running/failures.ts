import { PluginError } from '../plugin.ts';
import { PluginCallError } from '../sandbox/fault.ts';
import { HoldError } from './hold.ts';

const pause_seconds_max = 3_600;

/**
 * Seconds to wait after so many failures in a row (1 is the first): doubling from `first`, an hour
 * at most.
 */
export function retrySeconds(first: number, failures: number): number {
  return Math.min(first * 2 ** (failures - 1), pause_seconds_max);
}

/**
 * True when the same call may succeed later: the plugin threw RetryError, a request of it got no
 * answer, the sandbox ended under it, or the fault is not the plugin's.
 */
export function mayPass(error: unknown): boolean {
  return error instanceof PluginCallError ? error.is_retry : !(error instanceof PluginError);
}

/**
 * Describes the fault in a sentence for the plugin's log, with its place in the plugin's source. A
 * fault outside the plugin reveals nothing of the inside.
 */
export function describeFailure(error: unknown): string {
  if (error instanceof HoldError) return error.message;
  if (!(error instanceof PluginError)) return 'The server could not do its part.';
  const { file, line, column, message } = error;
  return file === undefined
    ? message
    : `${message} (${[file, line, column].filter((part) => part !== undefined).join(':')})`;
}
