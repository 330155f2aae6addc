import type { Command } from 'commander';
import type { Wrap } from './command_context.ts';

const load = () => import('./config/command.ts');

/** `sluice config`: what stands in an organization as files, and back. */
export function addConfigCommand(program: Command, wrap: Wrap): void {
  const config = program
    .command('config')
    .description('configuration as code: pull, plan, apply (docs/configuration_as_code.md)')
    .exitOverride();
  serverOptions(config.command('pull'))
    .description('write what stands into a file, secrets as references')
    .argument('[file]', 'a new file, .yaml or .json; - is standard output', '-')
    .action(wrap(async () => (await load()).pull));
  shownOptions(planOptions(config.command('plan')))
    .description('show what an apply would do; nothing changes')
    .action(wrap(async () => (await load()).plan));
  shownOptions(planOptions(config.command('diff')))
    .description('as plan; with --exit-code 1 when something differs')
    .option('--exit-code', 'exit with 1 when something differs')
    .action(wrap(async () => (await load()).diff));
  shownOptions(planOptions(config.command('apply')))
    .description('show the plan, ask, and apply it: all of it or nothing')
    .option('--yes', 'do not ask')
    .action(wrap(async () => (await load()).apply));
  planOptions(config.command('test'))
    .description('try every export that would change: its destination and its first rows')
    .action(wrap(async () => (await load()).test));
}

function serverOptions(command: Command): Command {
  return command
    .option('--url <url>', 'address of the server; default SLUICE_PUBLIC_URL')
    .option('--key <key>', 'personal API key; default SLUICE_OWNER_API_KEY')
    .option('--organization <id>', 'id of the organization', '@current')
    .option('--people', 'with the sections members and invites');
}

function planOptions(command: Command): Command {
  return serverOptions(command)
    .argument('<paths...>', 'files and folders: YAML, JSON, TypeScript')
    .option('--source <name>', 'name of the configuration, such as its repository', 'default')
    .option('--commit <id>', 'commit of the files')
    .option('--prune', 'delete what this source applied before and no longer names');
}

function shownOptions(command: Command): Command {
  return command
    .option('--json', 'one JSON object instead of text')
    .option('--markdown', 'Markdown, for a comment on a pull request');
}
