import { Option } from 'commander';
import type { Command } from 'commander';
import type { Output } from './client/print.ts';
import { serverOptions } from './client_commands.ts';
import type { Wrap } from './command_context.ts';
import type { MoveFlags, MoveFrom } from './move_in/move.ts';

const sources: [name: MoveFrom, title: string, from: string][] = [
  ['posthog', 'PostHog, or from another Sluice', 'address of the source'],
  ['segment', 'Segment', 'address of the Public API, such as https://api.segmentapis.com'],
  ['rudderstack', 'RudderStack', 'exported workspace configuration, or the address of its API'],
];

/** Adds `sluice migrate posthog`, `segment` and `rudderstack` (see docs/moving_in.md). */
export function addMoveInCommands(migrate: Command, wrap: Wrap<Output>): void {
  // After the name of a source, `--json` belongs to that command.
  migrate.enablePositionalOptions();
  for (const [name, title, from] of sources)
    serverOptions(migrate.command(name))
      .description(`move to this server from ${title} (docs/moving_in.md); shows the plan first`)
      .requiredOption('--from <source>', from)
      .option('--from-key <key>', 'key of the source; default SLUICE_FROM_KEY')
      .option('--organization <id>', 'organization here; default the one of the same name')
      .option('--folder <folder>', 'files of the move, which also let it continue', 'sluice-move')
      .option('--secrets-file <file>', 'lines NAME=value; default the environment, then a question')
      .option(
        '--history <place...>',
        'api, a folder, or s3://bucket/prefix; of several projects KEY=place',
      )
      .option('--since <day>', 'first day of the history (UTC); default 30 days ago')
      .option('--until <day>', 'day after the last one; default tomorrow')
      .addOption(new Option('--plan', 'show what would come; the default').conflicts('apply'))
      .option('--apply', 'apply the plan, then bring the history')
      .addOption(
        new Option('--compare', 'count the events of each day and name on both sides').conflicts([
          'apply',
          'plan',
        ]),
      )
      .option('--yes', 'do not ask')
      .option('--json', 'with --compare print JSON')
      .action(
        wrap(async () => {
          const { moveIn } = await import('./move_in/move.ts');
          return (output: Output, flags: MoveFlags) => moveIn(output, name, flags);
        }),
      );
}
