import type { CommandContext } from './command_context.ts';
import { withProcess } from './with_process.ts';

/**
 * Brings both stores to this version. With `acceptStore` the database may have come from another
 * PostgreSQL. Harmless when they are there already, also while a server
 * runs.
 */
export async function migrate(
  context: CommandContext,
  { acceptStore = false }: { acceptStore?: boolean } = {},
): Promise<number> {
  await withProcess(context, async () => undefined, {
    start: 'always',
    accepts_store: acceptStore,
  });
  context.say('Both stores are at this version.');
  return 0;
}
