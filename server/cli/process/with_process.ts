import type { Deps } from '../../deps.ts';
import type { CommandContext } from '../command_context.ts';
import { openProcess } from './process.ts';
import type { AcceptedStore, OpenProcess } from './process.ts';
import { joinStores } from '../stores/stores.ts';
import type { Stores } from '../stores/stores.ts';

/**
 * `start`: which folders embedded stores are started on (see `joinStores`); by default one that has
 * them.
 */
type Options = {
  start?: 'existing' | 'always';
  /** The store that may differ from before, or be empty. */
  accepts_store?: AcceptedStore | undefined;
  /** Done when the data folder is held, before the process opens. */
  prepare?: () => void;
};

/** A look at the stores as they are: no process is opened on them, nothing is migrated. */
type Look<Result> = (stores: Stores) => Promise<Result | undefined>;

/**
 * Opens the stores and a process for a short command, beside a running server or without one, and
 * gives what `work` gives; what `look` gives instead, when that is something. Guarantee: both are
 * closed again, in order, whatever happens.
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

/** Does one thing in a process of its own and prints the text that `work` gives. */
export async function sayWith(
  context: CommandContext,
  work: (deps: Deps) => Promise<string>,
): Promise<number> {
  context.say(await withProcess(context, ({ deps }) => work(deps)));
  return 0;
}
