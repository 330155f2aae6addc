import type { Deps } from '../../deps.ts';
import type { CommandContext } from '../command_context.ts';
import { openProcess } from './process.ts';
import type { AcceptedStore, OpenProcess } from './process.ts';
import { joinStores } from '../stores/stores.ts';
import type { Stores } from '../stores/stores.ts';

/**
 * `start`: on which folders to start embedded stores (see `joinStores`). Default: folders that have
 * them.
 */
type Options = {
  start?: 'existing' | 'always';
  /** The store that may differ from before, or be empty. */
  accepts_store?: AcceptedStore | undefined;
  /** Runs when the data folder is locked, before the process opens. */
  prepare?: () => void;
};

/** Reads the stores without opening a process or migrating them. */
type Look<Result> = (stores: Stores) => Promise<Result | undefined>;

/**
 * Opens the stores and a process for a short command, beside a running server or without one, and
 * returns the result of `work`. If `look` returns a result, returns that instead. Closes both in
 * order, also after an error.
 */
export async function withProcess<Result>(
  { config, log }: Pick<CommandContext, 'config' | 'log'>,
  work: (opened: OpenProcess) => Promise<Result>,
  { start = 'existing', prepare, accepts_store }: Options = {},
  look?: Look<Result>,
): Promise<Result> {
  const stores = await joinStores(config, log, { start });
  try {
    prepare?.();
    const seen = await look?.(stores);
    if (seen !== undefined) return seen;
    const opened = await openProcess(config, stores, log, 'command', accepts_store);
    try {
      return await work(opened);
    } finally {
      await opened.close();
    }
  } finally {
    await stores.close();
  }
}

/** Runs one command in a process of its own, and prints the text that `work` returns. */
export async function sayWith(
  context: CommandContext,
  work: (deps: Deps) => Promise<string>,
): Promise<number> {
  context.say(await withProcess(context, ({ deps }) => work(deps)));
  return 0;
}
