import type { Config } from '../config/config.ts';
import type { Logger } from '../platform/log.ts';

/**
 * What every command gets: checked settings, the log, and a way to write lines for the person at
 * the terminal.
 */
export type CommandContext = { config: Config; log: Logger; say(line: string): void };

/** Creates the action of a command: gives it its context and keeps its exit code. */
export type Wrap = <Args extends unknown[]>(
  action: (context: CommandContext, ...args: Args) => Promise<number>,
) => (...args: Args) => Promise<void>;
