import { Argument, Command, CommanderError, Option } from 'commander';
import { version } from '../platform/version.ts';
import type { CommandContext, Wrap } from './command_context.ts';
import type { Parts } from './serve.ts';
import type { Output } from './client/print.ts';
import { addClientCommands, project_text, serverOptions } from './client_commands.ts';
import { addBackupCommands, addLeaveCommand, addMigrateStoreCommand } from './backup_commands.ts';
import { addConfigCommand } from './config_commands.ts';
import { addMoveInCommands } from './move_in_commands.ts';
import {
  addErasureCommands,
  addKeyCommand,
  addOrganizationCommand,
  addRemovalsCommand,
  addUserCommand,
} from './people/people_commands.ts';

/** The heading of the commands that run on the server's machine. */
const server_group = "Commands that run on the server's machine:";

/**
 * Runs one command line and returns the exit code: 0 done, 1 a fault, 2 wrong usage or settings.
 * Guarantee: standard error gets a sentence for a known fault, without a stack.
 */
export async function run(argv: string[]): Promise<number> {
  let code = 0;
  const wrap: Wrap =
    (load) =>
    async (...given) => {
      // Settings and log are loaded with the first action, so help works without them.
      const [{ environmentConfig }, { openLog }, { terminalText }] = await Promise.all([
        import('../config/config.ts'),
        import('../platform/log.ts'),
        import('../platform/terminal_text.ts'),
      ]);
      const config = environmentConfig();
      const context: CommandContext = {
        config,
        log: openLog(config.log_level, config.log_format),
        say: (line) => process.stdout.write(`${terminalText(line)}\n`),
      };
      const action = await load();
      // The last argument is the command itself.
      code = await action(context, ...(given.slice(0, -1) as never[]));
    };
  const ask: Wrap<Output> =
    (load) =>
    async (...given) => {
      // Without settings and log, commands for a server's API start fast.
      const [action, { standardOutput }] = await Promise.all([load(), import('./client/print.ts')]);
      code = await action(standardOutput(), ...(given.slice(0, -1) as never[]));
    };
  const command = build(wrap, ask);
  try {
    // Without arguments, the help is printed, which is no error.
    if (argv.length <= 2) command.help();
    await command.parseAsync(argv);
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return (await import('./explain.ts')).explain(error);
  }
}

/** Returns all commands with their options but without actions, for docs/cli.md. */
export function describedProgram(): Command {
  const nothing = () => async () => undefined;
  return build(nothing, nothing);
}

function build(wrap: Wrap, ask: Wrap<Output>): Command {
  const program = new Command('sluice')
    .description('Management plane and export engine of a product-analytics platform.')
    .version(version, '--version', 'print the version')
    .enablePositionalOptions()
    .exitOverride();
  addClientCommands(program, ask, wrap(starting({ api: true, worker: false })));
  addImportCommand(program, ask);
  addConfigCommand(program, ask);
  addMcpCommand(program, wrap);
  addCompletionCommand(program, ask);
  program.commandsGroup(server_group);
  addServerCommands(program, wrap);
  const migrate = program
    .command('migrate')
    .description('migrate both stores to this version and exit')
    .addOption(
      new Option(
        '--accept-store <store>',
        'postgres: the database came from another PostgreSQL; clickhouse: its rows are gone',
      )
        .choices(['postgres', 'clickhouse'])
        .conflicts('status'),
    )
    .option('--status', 'change nothing; show pending and background migrations')
    .option('--json', 'with --status print JSON')
    .action(wrap(async () => (await import('./migrate.ts')).migrate));
  addMoveInCommands(migrate, ask);
  addBackupCommands(program, wrap);
  addMigrateStoreCommand(program, wrap);
  addLeaveCommand(program, wrap);
  addKeyCommand(program, wrap);
  addUserCommand(program, wrap);
  addOrganizationCommand(program, wrap);
  addRemovalsCommand(program, wrap);
  addErasureCommands(program, wrap);
  addVerifyCommand(program, wrap);
  program
    .command('secrets')
    .description('the secret key that encrypts stored credentials')
    .exitOverride()
    .command('rotate')
    .description(
      're-encrypt everything under former secret keys with the current one (see docs/operating.md)',
    )
    .action(wrap(async () => (await import('./secrets.ts')).rotateSecrets));
  program
    .command('doctor')
    .description('report faults of this machine, its settings or its stores')
    .option('--json', 'print JSON')
    .action(wrap(async () => (await import('./doctor/doctor.ts')).doctor));
  program
    .command('health')
    .description('ask the server or worker of this machine whether it is ready; exit code 0: yes')
    .option('--json', 'print JSON')
    .action(wrap(async () => (await import('./health.ts')).health));
  addSupportBundleCommand(program, wrap);
  return program;
}

function addVerifyCommand(program: Command, wrap: Wrap): void {
  program
    .command('verify')
    .description('read destinations again and report differences from the receipts')
    .option('--export <id>', 'one export only; default all that are not deleted')
    .option('--json', 'print JSON')
    .option(
      '--forget-missing',
      'remove deliveries without a receipt at the destination from the ledger: a backfill ' +
        'delivers their rows',
    )
    .option('--yes', 'do not ask')
    .action(wrap(async () => (await import('./verify/verify.ts')).verify));
}

const starting = (parts: Parts) => async () => {
  const { start } = await import('./start.ts');
  return (context: CommandContext, { demo = false }: { demo?: boolean }) =>
    start(context, parts, demo);
};

function addServerCommands(program: Command, wrap: Wrap): void {
  program
    .command('start')
    .description('start API, worker and, where no URL is set, embedded stores')
    .option(
      '--demo',
      'fill the first project with a web shop, export it hourly, backfill the last day',
    )
    .action(wrap(starting({ api: true, worker: true })));
  program
    .command('worker')
    .description('start a worker beside a running server, or on the configured stores')
    .action(wrap(starting({ api: false, worker: true })));
}

function addSupportBundleCommand(program: Command, wrap: Wrap): void {
  program
    .command('support-bundle')
    .description('write a file for support: versions, settings, runs, logs; no secrets')
    .option('--output <file>', 'file to write; default sluice-support-<time>.tar.gz')
    .option('--log <file...>', "files with the server's log; the end of each is included")
    .action(wrap(async () => (await import('./support_bundle/command.ts')).supportBundle));
}

function addMcpCommand(program: Command, wrap: Wrap): void {
  serverOptions(program.command('mcp'))
    .description('serve an agent on standard input and output (see docs/agents.md)')
    .action(wrap(async () => (await import('./mcp.ts')).mcp));
}

function addCompletionCommand(program: Command, ask: Wrap<Output>): void {
  program
    .command('completion')
    .description('print the script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(ask(async () => (await import('./completion/completion.ts')).completionOf(program)));
}

function addImportCommand(program: Command, wrap: Wrap<Output>): void {
  serverOptions(program.command('import'))
    .description(
      'send a file of events (NDJSON, also gzip; Parquet) to a project of a running server',
    )
    .argument('<file>', 'path of the file, of a folder, or s3://bucket/prefix')
    .option('--project <id>', project_text)
    .addOption(
      new Option('--from <product>', 'product that exported the file').choices([
        'amplitude',
        'ga4',
        'mixpanel',
        'posthog',
        'rudderstack',
        'segment',
        'snowplow',
      ]),
    )
    .option('--event-name <name>', 'name of all events')
    .option('--event-field <field>', 'field with the event name; default event')
    .option(
      '--distinct-id-field <field>',
      'field with the id of the person or thing, dots reach inside objects; default distinct_id',
    )
    .option(
      '--distinct-id-default <text>',
      'used where that field is missing or empty; default: such lines are refused',
    )
    .option('--timestamp-field <field>', 'field with the time; default timestamp')
    .option('--uuid-field <field>', 'field with the uuid of the event; default uuid')
    .option('--timezone <zone>', 'time zone of times without one', 'UTC')
    .option('--folder <folder>', 'list of the files of a folder or bucket', 'sluice-import')
    .option('--dry-run', 'show the first events in their stored form, and send nothing')
    .action(wrap(async () => (await import('./import/command.ts')).importCommand));
}
