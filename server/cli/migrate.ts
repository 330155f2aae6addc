import type { CommandContext } from './command_context.ts';
import { openProcess } from './process.ts';
import { joinStores } from './stores.ts';

/** Brings both stores to this version. Harmless when they are there already, also while a server runs. */
export async function migrate({ config, log, say }: CommandContext): Promise<number> {
  const stores = await joinStores(config, log, { start: 'always' });
  try {
    const opened = await openProcess(config, stores, log, 'command');
    await opened.close();
    say('Both stores are at this version.');
    return 0;
  } finally {
    await stores.close();
  }
}
