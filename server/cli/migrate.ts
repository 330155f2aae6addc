import { version } from '../platform/version.ts';
import type { CommandContext } from './command_context.ts';
import { lookAtBackground } from './doctor/background_findings.ts';
import { migrations_folder } from './process/process.ts';
import { lookAtSchema } from './doctor/schema_findings.ts';
import type { AcceptedStore } from './process/process.ts';
import { withProcess } from './process/with_process.ts';

const at_this_version = `Both stores are at this version, ${version}.`;

/**
 * Migrates both stores to this version. `acceptStore` names a store that the operator knows to be
 * another one than before, or empty; with `status`, nothing is changed. Safe to repeat, also while
 * a server runs.
 */
export async function migrate(
  context: CommandContext,
  {
    acceptStore,
    status,
    json,
  }: { acceptStore?: AcceptedStore; status?: boolean; json?: boolean } = {},
): Promise<number> {
  if (status === true) return migrationStatus(context, { json });
  const background = await withProcess(context, async ({ deps }) => lookAtBackground(deps.db), {
    start: 'always',
    accepts_store: acceptStore,
  });
  context.say(at_this_version);
  for (const { detail } of background) context.say(`In the background: ${detail}`);
  return 0;
}

/**
 * `sluice migrate --status`: shows what a start of this release would do to the stores, and the
 * progress of background migrations. Changes nothing. Exit code 1 if such a start would be refused.
 */
export async function migrationStatus(
  context: CommandContext,
  { json }: { json?: boolean | undefined } = {},
): Promise<number> {
  const findings = await withProcess(
    context,
    async ({ deps }) => lookAtBackground(deps.db),
    {},
    (stores) => lookAtSchema(context.config, stores, migrations_folder),
  );
  if (json === true) context.say(JSON.stringify(findings));
  else if (findings.length === 0) context.say(at_this_version);
  else for (const { subject, detail } of findings) context.say(`${subject}: ${detail}`);
  return findings.some(({ state }) => state === 'fault') ? 1 : 0;
}
