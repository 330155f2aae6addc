import { Command, CommanderError } from 'commander';
import { ConfigError, environmentConfig } from '../config/config.ts';
import { FolderInUseError, FolderUnusableError } from '../platform/data_folder.ts';
import { WrongSecretKeyError } from '../platform/secrets/server_keys.ts';
import { openLog } from '../platform/log.ts';
import type { ImportFlags } from './import_command.ts';
import { NoStoreError } from './stores.ts';
import { UserError } from './user_error.ts';
import type { CommandContext } from './command_context.ts';

/**
 * Runs one command line and gives the exit code: 0 done, 1 the command found or met a fault, 2 wrong usage or settings. Guarantee: a known fault is told in a sentence on standard
 * error, without a stack.
 */
export async function run(argv: string[]): Promise<number> {
  let code = 0;
  const wrap: Wrap =
    (action) =>
    async (...args) => {
      const config = environmentConfig();
      code = await action(
        {
          config,
          log: openLog(config.log_level),
          say: (line) => process.stdout.write(`${line}\n`),
        },
        ...args,
      );
    };
  const command = build(wrap);
  try {
    await command.parseAsync(argv);
    return code;
  } catch (error) {
    return explain(error);
  }
}

type Wrap = <Args extends unknown[]>(
  action: (context: CommandContext, ...args: Args) => Promise<number>,
) => (...args: Args) => Promise<void>;

/** Faults whose message is made for the person at the terminal. */
const told = [FolderInUseError, FolderUnusableError, NoStoreError, UserError, WrongSecretKeyError];

function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof ConfigError) {
    process.stderr.write(
      `Wrong settings:\n${error.problems.map((problem) => `  ${problem.variable} ${problem.detail}`).join('\n')}\n`,
    );
    return 2;
  }
  if (told.some((kind) => error instanceof kind)) {
    process.stderr.write(`${(error as Error).message}\n`);
    return 1;
  }
  process.stderr.write(
    `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 1;
}

function build(wrap: Wrap): Command {
  const program = new Command('sluice')
    .description('Management plane and export engine of a product-analytics platform.')
    .exitOverride();
  // With a default command an unknown word would be taken for its argument.
  program.hook('preSubcommand', (_parent, command) => {
    const [word] = program.args;
    if (
      word !== undefined &&
      !word.startsWith('-') &&
      command.name() === 'start' &&
      word !== 'start'
    )
      program.error(`error: unknown command '${word}'; see --help`);
  });
  program
    .command('start', { isDefault: true })
    .description('start API, worker and, where no URL is set, embedded stores')
    .option(
      '--demo',
      'fill the first project with a web shop, export it hourly, backfill the last day',
    )
    .action(
      wrap(async (context, options: { demo?: boolean }) =>
        (await import('./start.ts')).start(
          context,
          { api: true, worker: true },
          options.demo ?? false,
        ),
      ),
    );
  program
    .command('api')
    .description('start the API alone (with embedded stores where no URL is set)')
    .action(
      wrap(async (context) =>
        (await import('./start.ts')).start(context, { api: true, worker: false }, false),
      ),
    );
  program
    .command('worker')
    .description('start a worker beside a running server, or on the stores that are configured')
    .action(
      wrap(async (context) =>
        (await import('./start.ts')).start(context, { api: false, worker: true }, false),
      ),
    );
  program
    .command('migrate')
    .description('bring both stores to this version and exit')
    .action(wrap(async (context) => (await import('./migrate.ts')).migrate(context)));
  addKeyCommand(program, wrap);
  addUserCommand(program, wrap);
  addImportCommand(program, wrap);
  program
    .command('verify')
    .description('read destinations again and name what differs from the receipts')
    .option('--export <id>', 'one export only; default all that are not deleted')
    .option('--json', 'one JSON object instead of text')
    .action(
      wrap(async (context, options: { export?: string; json?: boolean }) =>
        (await import('./verify.ts')).verify(context, options),
      ),
    );
  program
    .command('secrets')
    .description('the secret key under which credentials are stored')
    .exitOverride()
    .command('rotate')
    .description(
      'put everything that is stored under former secret keys under the present one (see docs/operating.md)',
    )
    .action(wrap(async (context) => (await import('./secrets.ts')).rotateSecrets(context)));
  program
    .command('doctor')
    .description('say what is wrong with this machine, its settings or its stores')
    .action(wrap(async (context) => (await import('./doctor.ts')).doctor(context)));
  return program;
}

function addKeyCommand(program: Command, wrap: Wrap): void {
  const key = program.command('key').description('personal API keys').exitOverride();
  key
    .command('create')
    .description('make a key and print it once')
    .option('--email <address>', 'whose key; default the owner of SLUICE_OWNER_EMAIL')
    .option('--label <text>', 'what it is for', 'made on the command line')
    .option('--scopes <list>', 'scopes separated by commas', '*')
    .option('--expires-in-days <days>', 'days until it expires; default never')
    .action(
      wrap(
        async (
          context,
          options: { email?: string; label: string; scopes: string; expiresInDays?: string },
        ) => (await import('./key.ts')).createKey(context, options),
      ),
    );
}

function addUserCommand(program: Command, wrap: Wrap): void {
  const user = program.command('user').description('people and how they get in').exitOverride();
  const load = () => import('./user.ts');
  user
    .command('create')
    .description('make a user and print the link under which they choose a password')
    .requiredOption('--email <address>', 'their e-mail address')
    .option('--organization <id>', 'id or slug of the organization that they become a member of')
    .option('--level <level>', '1 member, 8 administrator, 15 owner', '1')
    .action(
      wrap(async (context, options: { email: string; organization?: string; level: string }) => {
        const { makeUser, userCommand } = await load();
        return userCommand(context, (deps) => makeUser(deps, options));
      }),
    );
  user
    .command('reset')
    .description(
      'print a link, good for an hour and once, under which the user chooses a new password',
    )
    .requiredOption('--email <address>', 'whose password')
    .option('--second-factor', 'take their second factor away as well')
    .action(
      wrap(
        async (
          context,
          { email, secondFactor = false }: { email: string; secondFactor?: boolean },
        ) => {
          const { resetUser, userCommand } = await load();
          return userCommand(context, (deps) =>
            resetUser(deps, { email, second_factor: secondFactor }),
          );
        },
      ),
    );
  user
    .command('let-in')
    .description(
      'print a link, good for 15 minutes and once, that signs an administrator in although single sign-on is enforced',
    )
    .requiredOption('--email <address>', 'whom')
    .action(
      wrap(async (context, { email }: { email: string }) => {
        const { letIn, userCommand } = await load();
        return userCommand(context, (deps) => letIn(deps, email));
      }),
    );
  for (const [name, description, is_active] of [
    [
      'deactivate',
      'keep a user out: ends their sessions, refuses their keys; nothing is deleted',
      false,
    ],
    ['activate', 'let a user in again', true],
  ] as const) {
    user
      .command(name)
      .description(description)
      .requiredOption('--email <address>', 'whom')
      .action(
        wrap(async (context, { email }: { email: string }) => {
          const { setUserActive, userCommand } = await load();
          return userCommand(context, (deps) => setUserActive(deps, email, is_active));
        }),
      );
  }
}

function addImportCommand(program: Command, wrap: Wrap): void {
  program
    .command('import')
    .description('send a file of events (NDJSON, also gzip) to a project of a running server')
    .argument('<file>', 'path of the file')
    .requiredOption('--project <id>', 'project id')
    .option('--url <url>', 'address of the server; default SLUICE_PUBLIC_URL')
    .option('--key <key>', 'personal API key with event:write; default SLUICE_OWNER_API_KEY')
    .option('--event-name <name>', 'name of every event')
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
    .option('--timezone <zone>', 'zone of times without one', 'UTC')
    .action(
      wrap(async (context, file: string, options: ImportFlags) =>
        (await import('./import_command.ts')).importCommand(context, file, options),
      ),
    );
}
