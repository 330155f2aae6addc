import type { Plan } from '../../api/configuration/schema.ts';
import { environmentVariable } from '../../config/environment.ts';
import { isAgreed } from '../agreed.ts';
import { say } from '../client/print.ts';
import type { Output } from '../client/print.ts';
import { getTarget } from '../client/target.ts';
import type { TargetFlags } from '../client/target.ts';
import { signal_exit_codes, stopSignal } from '../process/stop_signal.ts';
import { UserError, WrongUsageError } from '../user_error.ts';
import { ConfigurationRefused, fate_unknown, openClient } from './client.ts';
import type { Client } from './client.ts';
import { readFiles } from './files.ts';
import type { FilesRead } from './files.ts';
import { pullFiles } from './pull_files.ts';
import { faultMarkdown, planLines, planMarkdown, summaryLine } from './show.ts';
import type { FaultShown } from './show.ts';
import { testExports, triedLines } from './test_exports.ts';

/** The options of `sluice config` on the command line. */
type ConfigFlags = TargetFlags & {
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

/** `sluice config pull`: writes the current state into a file, secrets as references. */
export async function pull(output: Output, file: string, flags: ConfigFlags) {
  const { address } = getTarget(flags);
  const pulled = await clientOf(flags).pull(flags.people ?? false);
  if (flags.json === true && file === '-') {
    say(output, JSON.stringify(pulled));
    return 0;
  }
  const { lines } = await pullFiles(pulled, file, address);
  for (const line of lines) say(output, line);
  return 0;
}

/** `sluice config plan`: shows the changes of an apply, and changes nothing. */
export async function plan(output: Output, paths: string[], flags: ConfigFlags) {
  return tellingFaults(output, flags, async () => {
    const planned = await planOf(paths, flags);
    show(output, planned.plan, flags);
    return 0;
  });
}

/**
 * `sluice config diff`: like `plan`. With `--exit-code`, 1 means that something differs, and faults
 * have other codes.
 */
export async function diff(output: Output, paths: string[], flags: ConfigFlags) {
  return tellingFaults(output, flags, async () => {
    const planned = await planOf(paths, flags).catch((error: unknown) => {
      throw error instanceof UserError && error.exit_code === 1
        ? new WrongUsageError(error.message)
        : error;
    });
    show(output, planned.plan, flags);
    return flags.exitCode === true && !planned.plan.is_empty ? 1 : 0;
  });
}

/** `sluice config test`: tries every export that would change, and shows its first rows. */
export async function test(output: Output, paths: string[], flags: ConfigFlags) {
  return tellingFaults(output, flags, async () => {
    const { client, plan: planned, read } = await planOf(paths, flags);
    const isJson = flags.json === true;
    const all = await testExports(client, planned, read.value, (tried) => {
      if (!isJson) say(output, ...triedLines(tried));
    });
    if (isJson) say(output, JSON.stringify(all));
    else if (all.length === 0) say(output, 'No export would change.');
    return all.every(({ is_ok }) => is_ok) ? 0 : 1;
  });
}

/**
 * `sluice config apply`: plans, shows the plan, asks, and applies exactly this plan. A signal
 * before the answer changes nothing. After it, the server continues, and applies the plan
 * completely or not.
 */
export async function apply(output: Output, paths: string[], flags: ConfigFlags) {
  return tellingFaults(output, flags, async () => {
    let isSent = false;
    const stopped = stopSignal().then((signal) => {
      process.stderr.write(isSent ? `\n${fate_unknown}\n` : '\nNothing was changed.\n');
      return signal_exit_codes[signal];
    });
    const applied = (async () => {
      const { client, plan: planned, read } = await planOf(paths, flags);
      if (flags.json !== true) show(output, planned, flags);
      if (!planned.is_empty && !(await isWanted(planned, flags))) return 1;
      isSent = true;
      const done = await client.apply(planned.hash, read.places);
      if (flags.json === true) say(output, JSON.stringify(done));
      else {
        say(
          output,
          planned.is_empty ? 'There was nothing to do.' : `Applied at ${done.applied_at}.`,
        );
        for (const { path, secret } of done.shown_once)
          say(output, `${path} is ${secret} (shown only now)`);
      }
      return 0;
    })();
    const code = await Promise.race([applied, stopped]);
    // Pending work must not keep the process alive.
    if (code >= 129) process.exit(code);
    return code;
  });
}

type Planned = { client: Client; plan: Plan; read: FilesRead };

async function planOf(paths: string[], flags: ConfigFlags): Promise<Planned> {
  const client = clientOf(flags);
  const read = await readFiles(paths, environmentVariable);
  if (read.faults.length > 0) throw new ConfigurationRefused(read.faults);
  const asked = {
    configuration: read.value,
    source: { name: flags.source, commit: flags.commit ?? null },
    prune: flags.prune ?? false,
    people: flags.people ?? false,
  };
  const planned = await client.plan(asked, read.places);
  // The value of a variable is not in the file, so it is no secret in plain text there.
  const notes = (planned.notes as Plan['notes'] | undefined)?.filter(
    ({ code, path }) => code !== 'plain_secret' || !read.varied.has(path),
  );
  return { client, read, plan: { ...planned, notes: notes ?? [] } };
}

async function isWanted(planned: Plan, { yes = false }: ConfigFlags): Promise<boolean> {
  if (planned.needs.length > 0)
    throw new UserError('The plan cannot be applied before its needs are met.');
  if (yes) return true;
  return isAgreed(`Apply this: ${summaryLine(planned)}`, 'applies the plan');
}

function show(output: Output, planned: Plan, flags: ConfigFlags): void {
  if (flags.json === true) say(output, JSON.stringify(planned));
  else if (flags.markdown === true) say(output, planMarkdown(planned));
  else for (const line of planLines(planned)) say(output, line);
}

/**
 * Also writes a fault in the requested form, so that a workflow that pipes the plan gets a readable
 * result.
 */
async function tellingFaults(
  output: Output,
  { json, markdown }: ConfigFlags,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UserError && json === true)
      say(output, JSON.stringify({ error: faultShown(error) }));
    else if (error instanceof UserError && markdown === true)
      say(output, faultMarkdown(faultShown(error)));
    throw error;
  }
}

function faultShown(error: UserError): FaultShown {
  const faults = error instanceof ConfigurationRefused ? error.faults : [{ detail: error.message }];
  return { exit_code: error.exit_code, faults };
}

function clientOf(flags: ConfigFlags): Client {
  return openClient({ ...getTarget(flags), organization: flags.organization });
}
