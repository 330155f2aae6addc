import type { Config } from '../config/config.ts';
import type { Logger } from '../platform/log.ts';

/** Checked settings, the log, and a function that writes lines for the person at the terminal. */
export type CommandContext = { config: Config; log: Logger; say(line: string): void };

/** The work of a command, with the values of its command line; returns the exit code. */
export type Action<Context = CommandContext> = (
  context: Context,
  ...given: never[]
) => Promise<number>;

/** Creates the action of a command, which loads its code only when it runs. */
export type Wrap<Context = CommandContext> = (
  load: () => Promise<Action<Context>>,
) => (...given: unknown[]) => Promise<void>;
