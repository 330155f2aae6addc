import type { Logger } from '../../../platform/log.ts';
import { openProcessHolder } from './process_holder.ts';
import type { ProcessHolder, ProgramMaker } from './process_holder.ts';

/** Opens processes that end with their work, or when its signal aborts. */
export function openShortLived(log: Logger) {
  const holders = new Set<ProcessHolder>();
  let is_closed = false;
  return {
    use: async <Result>(
      signal: AbortSignal,
      work: (holder: ProcessHolder) => Promise<Result>,
      program?: ProgramMaker,
    ): Promise<Result> => {
      signal.throwIfAborted();
      if (is_closed) throw new Error('The plugin sandbox is closed.');
      const holder = openProcessHolder(log, program);
      holders.add(holder);
      // Some code that waits for the process does not hear the signal, but hears the end.
      const end = () => void holder.close();
      signal.addEventListener('abort', end);
      try {
        return await work(holder);
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', end);
        holders.delete(holder);
        await holder.close();
      }
    },
    close: async () => {
      is_closed = true;
      await Promise.all([...holders].map((holder) => holder.close()));
    },
  };
}
