import { PluginError } from '../plugin.ts';
import { PluginCallError } from '../sandbox/fault.ts';
import { HoldError } from './hold.ts';

const pause_seconds_max = 3_600;

/**
 * Returns the seconds to wait after this many failures in a row (1 is the first): doubling from
 * `first`, at most an hour.
 */
export function retrySeconds(first: number, failures: number): number {
  return Math.min(first * 2 ** (failures - 1), pause_seconds_max);
}

/**
 * Returns true if a retry of the call may succeed. The plugin threw RetryError, its request got no
 * answer, the sandbox ended meanwhile, or the plugin did not cause the fault.
 */
export function mayPass(error: unknown): boolean {
  return error instanceof PluginCallError ? error.is_retry : !(error instanceof PluginError);
}

/**
 * Describes the fault in a sentence for the plugin's log, with its place in the plugin's source.
 * For a fault outside the plugin, the sentence reveals no internals.
 */
export function describeFailure(error: unknown): string {
  if (error instanceof HoldError) return error.message;
  if (!(error instanceof PluginError)) return 'The server failed.';
  const { file, line, column, message } = error;
  return file === undefined
    ? message
    : `${message} (${[file, line, column].filter((part) => part !== undefined).join(':')})`;
}
