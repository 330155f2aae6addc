import type { Config } from '../config/config.ts';
import type { Logger } from '../platform/log.ts';

/**
 * The parts that every command gets: checked settings, the log, and a way to write lines for the
 * person at the terminal.
 */
export type CommandContext = { config: Config; log: Logger; say(line: string): void };

/** The work of a command, from the values of its command line; its result is the exit code. */
export type Action<Context = CommandContext> = (
  context: Context,
  ...given: never[]
) => Promise<number>;

/** Creates the action of a command out of what loads it, which nothing does before it runs. */
export type Wrap<Context = CommandContext> = (
  load: () => Promise<Action<Context>>,
) => (...given: unknown[]) => Promise<void>;
