import type { CommandContext } from './command_context.ts';
import { withProcess } from './with_process.ts';

/**
 * Brings both stores to this version. Harmless when they are there already, also while a server
 * runs.
 */
export async function migrate(context: CommandContext): Promise<number> {
  await withProcess(context, async () => undefined, { start: 'always' });
  context.say('Both stores are at this version.');
  return 0;
}
