import type { Command } from 'commander';
import type { Output } from './client/print.ts';
import { serverOptions } from './client_commands.ts';
import type { Wrap } from './command_context.ts';

const load = () => import('./config/command.ts');

/** Adds `sluice config`: the state of an organization as files, and back. */
export function addConfigCommand(program: Command, wrap: Wrap<Output>): void {
  const config = program
    .command('config')
    .description('configuration as code: pull, plan, apply (docs/configuration_as_code.md)')
    .exitOverride();
  organizationOptions(config.command('pull'))
    .description('write the current configuration into a file, secrets as references')
    .argument('[file]', 'a new file, .yaml or .json; - is standard output', '-')
    .option('--json', 'print JSON instead of YAML')
    .action(wrap(async () => (await load()).pull));
  shownOptions(planOptions(config.command('plan')))
    .description('show what an apply would do; nothing changes')
    .action(wrap(async () => (await load()).plan));
  shownOptions(planOptions(config.command('diff')))
    .description('as plan; with --exit-code 1 when something differs, 2 to 4 for faults')
    .option('--exit-code', 'exit with 1 if something differs')
    .action(wrap(async () => (await load()).diff));
  shownOptions(planOptions(config.command('apply')))
    .description('show the plan, ask, and apply it completely or not')
    .option('--yes', 'do not ask')
    .action(wrap(async () => (await load()).apply));
  planOptions(config.command('test'))
    .description('test every export that would change: its destination and its first rows')
    .option('--json', 'print JSON')
    .action(wrap(async () => (await load()).test));
}

function organizationOptions(command: Command): Command {
  return serverOptions(command)
    .option('--organization <id>', 'id of the organization', '@current')
    .option('--people', 'include the sections members and invites');
}

function planOptions(command: Command): Command {
  return organizationOptions(command)
    .argument('<paths...>', 'files and folders: YAML, JSON, TypeScript')
    .option('--source <name>', 'name of the configuration, such as its repository', 'default')
    .option('--commit <id>', 'commit of the files')
    .option('--prune', 'delete objects that this source applied and no longer names');
}

function shownOptions(command: Command): Command {
  return command
    .option('--json', 'print JSON')
    .option('--markdown', 'Markdown, for a comment on a pull request');
}
