import type { Plan } from '../../api/configuration/schema.ts';
import { environmentVariable } from '../../config/config.ts';
import { isAgreed } from '../agreed.ts';
import type { CommandContext } from '../command_context.ts';
import { signal_exit_codes, stopSignal } from '../process/stop_signal.ts';
import { serverAddress } from '../server_address.ts';
import { UserError, WrongUsageError } from '../user_error.ts';
import { ConfigurationRefused, fate_unknown, openClient } from './client.ts';
import type { Client } from './client.ts';
import { readFiles } from './files.ts';
import type { FilesRead } from './files.ts';
import { faultLines } from './places.ts';
import { pullFiles } from './pull_files.ts';
import { planLines, planMarkdown, summaryLine } from './show.ts';
import { testExports } from './test_exports.ts';

/** The options of `sluice config` as the command line gives them. */
type ConfigFlags = {
  url?: string;
  key?: string;
  organization: string;
  source: string;
  commit?: string;
  prune?: boolean;
  people?: boolean;
  json?: boolean;
  markdown?: boolean;
  exitCode?: boolean;
  yes?: boolean;
};

/** `sluice config pull`: writes what stands into a file, secrets as references. */
export async function pull(context: CommandContext, file: string, flags: ConfigFlags) {
  const client = clientOf(context, flags);
  const address = addressOf(context, flags);
  const { lines } = await pullFiles(await client.pull(flags.people ?? false), file, address);
  for (const line of lines) context.say(line);
  return 0;
}

/** `sluice config plan`: shows what an apply would do, and changes nothing. */
export async function plan(context: CommandContext, paths: string[], flags: ConfigFlags) {
  return tellingFaults(async () => {
    const planned = await planOf(context, paths, flags);
    show(context, planned.plan, flags);
    return 0;
  });
}

/** `sluice config diff`: as `plan`; with `--exit-code` 1 says that something differs. */
export async function diff(context: CommandContext, paths: string[], flags: ConfigFlags) {
  return tellingFaults(async () => {
    const planned = await planOf(context, paths, flags);
    show(context, planned.plan, flags);
    return flags.exitCode === true && !planned.plan.is_empty ? 1 : 0;
  });
}

/** `sluice config test`: tries every export that would change, and shows its first rows. */
export async function test(context: CommandContext, paths: string[], flags: ConfigFlags) {
  return tellingFaults(async () => {
    const { client, plan: planned, read } = await planOf(context, paths, flags);
    return testExports(client, planned, read.value, context.say);
  });
}

/**
 * `sluice config apply`: plans, shows the plan, asks, and applies that very plan. A signal before
 * the answer changes nothing; after it the server goes on, and all of the plan holds or nothing.
 */
export async function apply(context: CommandContext, paths: string[], flags: ConfigFlags) {
  return tellingFaults(async () => {
    let isSent = false;
    const stopped = stopSignal().then((signal) => {
      process.stderr.write(isSent ? `\n${fate_unknown}\n` : '\nNothing was changed.\n');
      return signal_exit_codes[signal];
    });
    const applied = (async () => {
      const { client, plan: planned, read } = await planOf(context, paths, flags);
      if (flags.json !== true) show(context, planned, flags);
      if (!planned.is_empty && !(await isWanted(planned, flags))) return 1;
      isSent = true;
      const done = await client.apply(planned.hash, read.places);
      if (flags.json === true) context.say(JSON.stringify(done));
      else {
        context.say(
          planned.is_empty ? 'Nothing had to be done.' : `Applied at ${done.applied_at}.`,
        );
        for (const { path, secret } of done.shown_once)
          context.say(`${path} is ${secret} (shown only now)`);
      }
      return 0;
    })();
    const code = await Promise.race([applied, stopped]);
    // What is under way must not keep the process from ending.
    if (code >= 129) process.exit(code);
    return code;
  });
}

type Planned = { client: Client; plan: Plan; read: FilesRead };

async function planOf(
  context: CommandContext,
  paths: string[],
  flags: ConfigFlags,
): Promise<Planned> {
  const client = clientOf(context, flags);
  const read = await readFiles(paths, environmentVariable);
  if (read.faults.length > 0) throw new ConfigurationRefused(read.faults);
  const asked = {
    configuration: read.value,
    source: { name: flags.source, commit: flags.commit ?? null },
    prune: flags.prune ?? false,
    people: flags.people ?? false,
  };
  const planned = await client.plan(asked, read.places);
  // What a text has by a variable does not stand in the file.
  const notes = (planned.notes as Plan['notes'] | undefined)?.filter(
    ({ code, path }) => code !== 'plain_secret' || !read.varied.has(path),
  );
  return { client, read, plan: { ...planned, notes: notes ?? [] } };
}

async function isWanted(planned: Plan, { yes = false }: ConfigFlags): Promise<boolean> {
  if (planned.needs.length > 0)
    throw new UserError('The plan cannot be applied while something is needed first.');
  if (yes) return true;
  return isAgreed(`Apply this: ${summaryLine(planned)}`, 'applies the plan');
}

function show(context: CommandContext, planned: Plan, flags: ConfigFlags): void {
  if (flags.json === true) context.say(JSON.stringify(planned));
  else if (flags.markdown === true) context.say(planMarkdown(planned));
  else for (const line of planLines(planned)) context.say(line);
}

/** Faults of files on standard error, all of them, and 1. */
async function tellingFaults(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ConfigurationRefused)) throw error;
    for (const line of faultLines(error.faults)) process.stderr.write(`${line}\n`);
    return 1;
  }
}

function addressOf({ config }: CommandContext, { url }: ConfigFlags): string {
  return serverAddress(url ?? config.public_url);
}

function clientOf(context: CommandContext, flags: ConfigFlags): Client {
  const key = flags.key ?? context.config.owner_api_key ?? '';
  if (key === '')
    throw new WrongUsageError(
      'A configuration needs a key: --key slk_..., or SLUICE_OWNER_API_KEY.',
    );
  return openClient({ address: addressOf(context, flags), key, organization: flags.organization });
}
