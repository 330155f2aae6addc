import { Option } from 'commander';
import type { Command } from 'commander';
import type { Output } from './client/print.ts';
import type { Wrap } from './command_context.ts';

/** The heading of the commands for a server's API, in help and in docs/cli.md. */
const client_group = 'Commands that ask a server:';

const exports_of = () => import('./exports/list.ts');
const control = () => import('./exports/control.ts');
const backfills = () => import('./exports/backfill.ts');
const runs = () => import('./runs/runs.ts');
const lake = () => import('./lake/lake.ts');

/**
 * Adds the commands that call a server with an address and a key, from any machine. `sluice api`
 * has two meanings: with a route it calls the route, without one it starts the API.
 */
export function addClientCommands(
  program: Command,
  wrap: Wrap<Output>,
  startApi: (...given: unknown[]) => Promise<void>,
): void {
  program.commandsGroup(client_group);
  addExports(program, wrap);
  addRuns(program, wrap);
  addLake(program, wrap);
  targetOptions(
    program
      .command('api')
      .description('call any route of the API and print its answer; without a path start the API')
      .argument('[path]', 'such as projects/@current/batch_exports; {project} is --project')
      .option('-X, --method <method>', 'default GET, with fields POST')
      .option('-f, --field <name=value...>', 'a text of the body, or of the query of a GET')
      .option(
        '-F, --typed <name=value...>',
        'the same as JSON; name=@file is the content of a file',
      )
      .option('-H, --header <line...>', 'a header, such as "If-Match: ..."')
      .option('--input <file>', 'the whole body, as JSON; - is standard input')
      .action((path?: string, ...given: unknown[]) =>
        path === undefined && Object.keys(given[0] as object).length === 0
          ? startApi(...given)
          : wrap(async () => (await import('./client/api_command.ts')).apiCommand)(path, ...given),
      ),
  );
  addProfiles(program, wrap);
}

function addProfiles(program: Command, wrap: Wrap<Output>): void {
  const load = () => import('./client/login.ts');
  targetOptions(
    program
      .command('login')
      .description('keep a server and a key as a profile; beside a local server it creates the key')
      .action(wrap(async () => (await load()).login)),
  );
  program
    .command('logout')
    .description('remove a profile; the key itself stays valid')
    .option('--profile <name>', 'profile to remove; default the one in use')
    .action(wrap(async () => (await load()).logout));
  program
    .command('profiles')
    .description('list profiles, or make another one the current one')
    .argument('[name]', 'the profile to use')
    .option('--json', 'print JSON')
    .action(wrap(async () => (await load()).listProfiles));
}

/** Describes the option --project. */
export const project_text = 'project id; default from the profile, then @current';

/** Adds the options that select the server and the key. */
export function serverOptions(command: Command): Command {
  return command
    .option('--url <url>', 'address of the server; default SLUICE_URL, then the profile')
    .option('--key <key>', 'personal API key; default SLUICE_API_KEY, then the profile')
    .option('--profile <name>', 'profile; default SLUICE_PROFILE, then the current one');
}

function targetOptions(command: Command): Command {
  return serverOptions(command).option('--project <id>', project_text);
}

function asking(command: Command): Command {
  return targetOptions(command).option('--json', 'print JSON');
}

function addExports(program: Command, wrap: Wrap<Output>): void {
  const group = program
    .command('exports')
    .description('batch exports: list, create, pause, run, backfill, logs')
    .exitOverride();
  asking(
    group
      .command('list')
      .description('list the exports of a project with their health, newest first')
      .option('--search <text>', 'only exports whose name contains this text')
      .option('--health <codes>', 'only exports in these states, such as failing,late')
      .option('--tag <tag>', 'only exports with this tag')
      .option('--limit <n>', 'most exports in the list', '100')
      .action(wrap(async () => (await exports_of()).listExports)),
  );
  asking(
    group
      .command('show')
      .description('show an export with its health and its newest runs')
      .argument('<export>', export_text)
      .action(wrap(async () => (await exports_of()).showExport)),
  );
  asking(addCreate(group.command('create'), wrap));
  asking(
    group
      .command('pause')
      .description('pause an export: no scheduled run is planned')
      .argument('<export>', export_text)
      .action(wrap(async () => (await control()).pauseExport)),
  );
  asking(
    group
      .command('resume')
      .alias('unpause')
      .description('resume a paused export')
      .argument('<export>', export_text)
      .option('--backfill', 'also deliver the missed intervals')
      .action(wrap(async () => (await control()).resumeExport)),
  );
  asking(
    group
      .command('retry')
      .description('retry all failed runs of an export')
      .argument('<export>', export_text)
      .action(wrap(async () => (await control()).retryExport)),
  );
  addDeliveries(group, wrap);
}

const export_text = 'name or id of the export';

function addCreate(command: Command, wrap: Wrap<Output>): Command {
  return command
    .description('create an export')
    .argument('<name>', 'a name for people')
    .requiredOption('--to <type>', 'destination type, such as file, s3 or postgres')
    .requiredOption('--every <interval>', '1m, 5m, 15m, hour, day or week')
    .option('--at <hh:mm>', 'time at which days and weeks turn; default 00:00')
    .option('--on <weekday>', 'day on which weeks turn; default monday')
    .option('--timezone <zone>', "such as Europe/Berlin; default: the project's")
    .option('-c, --config <key=value...>', 'keys of the destination; key=@file for secrets')
    .option('--model <model>', 'events (default), persons, person_distinct_ids, sessions or groups')
    .option('--query <sql>', 'a custom query; @file reads it from a file')
    .option('--mode <mode>', 'how a run writes rows into a table: append, merge or replace')
    .option('--primary-key <column...>', 'columns that identify a row, with --mode merge')
    .option(
      '--version-key <column...>',
      'columns that grow with each change of a row, with --mode merge',
    )
    .option('--allow-empty', 'with --mode replace: a run without rows empties the table')
    .option(
      '--start-at <instant>',
      'start of the schedule, if later than now; a backfill delivers older rows',
    )
    .option('--end-at <instant>', 'no interval after this instant is exported')
    .option('--tag <tag...>', 'words by which people find it')
    .option('--paused', 'create it paused')
    .option('--test', 'test the destination first, and create nothing if the test fails')
    .action(wrap(async () => (await import('./exports/create.ts')).createExport));
}

function addDeliveries(group: Command, wrap: Wrap<Output>): void {
  asking(
    group
      .command('run')
      .description('deliver now the rows ingested since the last interval')
      .argument('<export>', export_text)
      .option('--wait', 'wait for the end; exit code 1 unless it completed')
      .action(wrap(async () => (await backfills()).runExport)),
  );
  asking(
    group
      .command('backfill')
      .description('deliver a range of the past')
      .argument('<export>', export_text)
      .requiredOption('--from <instant>', 'start of the range: an instant, or a day in UTC')
      .option('--to <instant>', 'end of the range, exclusive', 'now')
      .addOption(
        new Option('--by <time>', 'the clock of the range').choices(['timestamp', 'inserted_at']),
      )
      .option('--all', 'deliver every row again, including delivered ones')
      .option('--dry-run', 'show the rows that it would deliver, and start nothing')
      .option('--wait', 'wait for the end; exit code 1 unless it completed')
      .action(wrap(async () => (await backfills()).backfillExport)),
  );
  asking(
    group
      .command('logs')
      .description('print the log of an export, oldest line first')
      .argument('<export>', export_text)
      .option('-f, --follow', 'continue with new lines until Ctrl-C')
      .option('--run <id>', 'only lines of this run')
      .option('--level <levels>', 'only these levels, such as WARNING,ERROR')
      .option('--limit <n>', 'most lines before now', '50')
      .action(wrap(async () => (await import('./exports/logs.ts')).showLogs)),
  );
}

function addRuns(program: Command, wrap: Wrap<Output>): void {
  const group = program
    .command('runs')
    .description('runs of an export: list, watch, cancel, retry')
    .exitOverride();
  asking(
    group
      .command('list')
      .description('list the runs of an export, newest first')
      .argument('<export>', export_text)
      .option('--status <statuses>', 'only these statuses, such as Failed,FailedRetryable')
      .option('--limit <n>', 'most runs in the list', '30')
      .action(wrap(async () => (await runs()).listRuns)),
  );
  asking(
    group
      .command('watch')
      .description('follow a run until it ends; exit code 1 unless it completed')
      .argument('<export>', export_text)
      .argument('[run]', 'id of the run; default the newest')
      .action(wrap(async () => (await runs()).watchRun)),
  );
  asking(
    group
      .command('cancel')
      .description('cancel a run; the destination keeps none of its rows')
      .argument('<export>', export_text)
      .argument('<run>', 'id of the run')
      .action(wrap(async () => (await runs()).cancelRun)),
  );
  asking(
    group
      .command('retry')
      .description('deliver the rows that a failed or cancelled run did not')
      .argument('<export>', export_text)
      .argument('<run>', 'id of the run')
      .action(wrap(async () => (await runs()).retryRun)),
  );
}

function addLake(program: Command, wrap: Wrap<Output>): void {
  const group = program
    .command('lake')
    .description('tables of the Iceberg catalog: list, show, maintain')
    .exitOverride();
  asking(
    group
      .command('list')
      .alias('tables')
      .description('list the tables of a project by name')
      .option('--limit <n>', 'most tables in the list', '100')
      .action(wrap(async () => (await lake()).listTables)),
  );
  asking(
    group
      .command('show')
      .description('show a table with its columns and its latest maintenance')
      .argument('<table>', table_text)
      .action(wrap(async () => (await lake()).showTable)),
  );
  asking(
    group
      .command('maintain')
      .description('merge small files and remove old ones now, without waiting for the next round')
      .argument('<table>', table_text)
      .action(wrap(async () => (await lake()).maintainTable)),
  );
}

const table_text = 'id of the table, or its name such as sluice.events';
