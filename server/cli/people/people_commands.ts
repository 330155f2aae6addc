import type { Command } from 'commander';
import type { Deps } from '../../deps.ts';
import type { Action, Wrap } from '../command_context.ts';

/**
 * Creates a command that opens a process, does one thing and prints the resulting text. The code
 * that opens a process is loaded only when the command runs.
 */
function saying(load: () => Promise<(deps: Deps, ...given: never[]) => Promise<string>>) {
  return async (): Promise<Action> => {
    const [{ sayWith }, work] = await Promise.all([import('../process/with_process.ts'), load()]);
    return (context, ...given) => sayWith(context, (deps) => work(deps, ...given));
  };
}

/** `sluice removals`: shows the removal of deleted projects' rows. */
export function addRemovalsCommand(program: Command, wrap: Wrap): void {
  program
    .command('removals')
    .description('rows of deleted projects: removals in progress, certificates of finished ones')
    .option('--json', 'print JSON')
    .action(wrap(saying(async () => (await import('../removals.ts')).listRemovals)));
}

/** `sluice erasures`, `sluice erase`: remove persons and events from both stores. */
export function addErasureCommands(program: Command, wrap: Wrap): void {
  program
    .command('erasures')
    .description('erasures of persons and events: progress, certificates of finished ones')
    .option('--json', 'print JSON')
    .action(wrap(saying(async () => (await import('../erasures.ts')).listErasures)));
  program
    .command('erase')
    .description(
      'erase persons with all of their distinct ids: show the extent, ask, and let a running ' +
        'server erase them',
    )
    .argument('<project>', 'project id')
    .requiredOption('--distinct-id <ids...>', 'any one distinct id of each person')
    .option('--anonymize', 'store their later events without a person, instead of refusing them')
    .option('--yes', 'do not ask')
    .action(wrap(async () => (await import('../erasures.ts')).eraseCommand));
}

/** `sluice key`: create, list and revoke personal API keys. */
export function addKeyCommand(program: Command, wrap: Wrap): void {
  const key = program.command('key').description('personal API keys').exitOverride();
  key
    .command('create')
    .description('create a key and print it once')
    .option('--email <address>', 'whose key; default the owner of SLUICE_OWNER_EMAIL')
    .option('--label <text>', 'its purpose', 'created on the command line')
    .option('--scopes <list>', 'scopes separated by commas', '*')
    .option('--expires-in-days <days>', 'days until it expires; default never')
    .action(wrap(async () => (await import('./key.ts')).createKey));
  key
    .command('list')
    .description('list keys with their ids, newest first; the keys themselves are never shown')
    .option('--email <address>', 'whose keys; default all people')
    .option('--json', 'print JSON')
    .action(wrap(saying(async () => (await import('./key.ts')).listKeys)));
  key
    .command('revoke')
    .description('end a key at once')
    .argument('<id>', 'its id, as key list shows it')
    .action(wrap(saying(async () => (await import('./key.ts')).revokeKey)));
}

/**
 * Adds `sluice organization`: list organizations, set their plugins level, and let members in
 * again.
 */
export function addOrganizationCommand(program: Command, wrap: Wrap): void {
  const organization = program
    .command('organization')
    .description('organizations and their rights on this server')
    .exitOverride();
  organization
    .command('list')
    .description('list all organizations: their plugins level, and the plugins they publish')
    .option('--json', 'print JSON')
    .action(wrap(saying(async () => (await import('./organization.ts')).listOrganizations)));
  organization
    .command('set-plugins-level')
    .description(
      'set what an organization may do with plugins: 0 nothing, 3 configure, 6 install and ' +
        'change, 9 publish to all organizations',
    )
    .argument('<organization>', 'its id or slug')
    .argument('<level>', '0, 3, 6 or 9')
    .action(wrap(saying(async () => (await import('./organization.ts')).setPluginsLevel)));
  organization
    .command('open')
    .description('let members in again: no single sign-on for all, no IP ranges')
    .argument('<organization>', 'its id or slug')
    .action(wrap(saying(async () => (await import('./organization.ts')).openOrganization)));
}

const load = () => import('./user.ts');

/** Adds `sluice user`: create users, list them, let them in and keep them out. */
export function addUserCommand(program: Command, wrap: Wrap): void {
  const user = program
    .command('user')
    .description('people and their ways to sign in')
    .exitOverride();
  user
    .command('list')
    .description('list all people: their ways to sign in, their organizations and levels')
    .option('--json', 'print JSON')
    .action(wrap(saying(async () => (await load()).listUsers)));
  user
    .command('create')
    .description('create a user and print a link to choose a password')
    .requiredOption('--email <address>', 'their e-mail address')
    .option('--organization <id>', 'id or slug of the organization to join')
    .option('--level <level>', '1 member, 8 administrator, 15 owner', '1')
    .action(wrap(saying(async () => (await load()).createUser)));
  addLinkCommands(user, wrap);
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
        wrap(
          saying(async () => {
            const { setUserActive } = await load();
            return (deps: Deps, { email }: { email: string }) =>
              setUserActive(deps, email, is_active);
          }),
        ),
      );
  }
}

function addLinkCommands(user: Command, wrap: Wrap): void {
  user
    .command('reset')
    .description('print a link to choose a new password; it works once, within an hour')
    .requiredOption('--email <address>', 'whose password')
    .option('--second-factor', 'also remove their second factor')
    .action(wrap(saying(async () => (await load()).resetUser)));
  user
    .command('let-in')
    .description(
      'print a link that signs an administrator in once within 15 minutes, even if single ' +
        'sign-on is enforced',
    )
    .requiredOption('--email <address>', 'whom')
    .action(
      wrap(
        saying(async () => {
          const { letIn } = await load();
          return (deps: Deps, { email }: { email: string }) => letIn(deps, email);
        }),
      ),
    );
}
