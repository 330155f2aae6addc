import type { Command, Option } from 'commander';
import { allNodes, commandTree } from '../../server/cli/completion/command_tree.ts';
import type { CommandNode } from '../../server/cli/completion/command_tree.ts';
import { describedProgram } from '../../server/cli/commands.ts';

const head = `# The command line

\`sluice\` does two kinds of work. Some commands ask a server, from any machine: they need its
address and an API key. The others run where the server runs, and use its settings and stores.

This page is written by \`npm run docs:cli\` from the commands themselves; change the text in
\`server/cli/\`.

## Your first export

Beside a server that you started in this folder (\`npm start\`), in a second terminal:

\`\`\`sh
sluice login
sluice exports create events --to file --every 5m -c prefix=events
sluice exports backfill events --from 2026-01-02 --to 2026-01-03 --wait
\`\`\`

In a checkout \`sluice\` is \`npm run -s sluice --\`.

## Sign in

\`sluice login\` keeps the address of a server and a key as a profile, after the server has accepted
the key. It asks for the key at a terminal, or reads it from standard input:

\`\`\`sh
sluice login --url https://sluice.example.com --profile production < key.txt
sluice profiles               # all of them
sluice profiles production    # use this one from now on
sluice exports list --profile default
\`\`\`

In the folder of an installation, without \`--url\`, it creates a key for the owner. Whoever can
read that folder can do so anyway. Profiles lie in \`$XDG_CONFIG_HOME/sluice/profiles.json\`, else
in \`~/.config/sluice/profiles.json\`, with mode 0600. A key of a profile is sent to the address of
that profile alone.

A command finds the server and the key in this order, each by itself:

1. \`--url\` and \`--key\`
2. the profile of \`--profile\` or \`SLUICE_PROFILE\`
3. \`SLUICE_URL\` and \`SLUICE_API_KEY\`, else \`SLUICE_PUBLIC_URL\` and \`SLUICE_OWNER_API_KEY\`
4. the profile in use
5. \`http://127.0.0.1:8000\`, without a key

## Output

At a terminal commands print tables with headings and colours. In a pipe they print one line for
each row, with tabs between the columns and without headings. With \`--json\` they print JSON.
\`NO_COLOR=1\` switches colours off.

\`\`\`sh
sluice exports list --health failing | cut -f1
sluice runs list events --json | jq '.[0].records_completed'
\`\`\`

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | refused or failed; \`config diff --exit-code\`: something differs |
| 2 | wrong usage: the command line, the settings or the files |
| 3 | the server cannot be reached or cannot answer now: try again |
| 4 | no API key, or the server refuses it |
| 129, 130, 143 | ended by a signal |

## Completion

\`\`\`sh
source <(sluice completion bash)    # in ~/.bashrc
source <(sluice completion zsh)     # in ~/.zshrc, behind compinit
sluice completion fish | source     # in ~/.config/fish/config.fish
\`\`\`
`;

/**
 * Options of many commands. Each is described once, and again where a command means something else.
 */
const shared = ['--url', '--key', '--profile', '--project', '--json'];

/** Returns the text of docs/cli.md: every command with its arguments and options. */
export function cliText(): string {
  const nodes = allNodes(commandTree(describedProgram())).filter(({ words }) => words.length > 0);
  const groups = [...new Set(nodes.map((node) => groupOf(node, nodes)))];
  const common = shared.map((long) => usual(long, nodes));
  return [
    head,
    '## Options of many commands\n',
    table(common.map(optionRow)),
    ...groups.flatMap((group) => [
      `\n## ${group.replace(/:$/, '')}\n`,
      nodes
        .filter((node) => groupOf(node, nodes) === group && doesSomething(node))
        .map((node) => commandText(node, common))
        .join('\n'),
    ]),
  ].join('\n');
}

/** Returns false for a word that only has commands under it. */
function doesSomething({ inner, command }: CommandNode): boolean {
  return inner.length === 0 || command.options.length > 0;
}

/** An option as most commands describe it. */
function usual(long: string, nodes: readonly CommandNode[]): Option {
  const all = nodes.flatMap(({ command }) => command.options.filter((one) => one.long === long));
  const alike = (option: Option) => all.filter((one) => one.description === option.description);
  return all.toSorted((a, b) => alike(b).length - alike(a).length)[0]!;
}

/** Returns the group of a command, which is that of its parent. */
function groupOf({ words }: CommandNode, nodes: readonly CommandNode[]): string {
  const top = nodes.find((one) => one.words.length === 1 && one.words[0] === words[0])!;
  return top.command.helpGroup();
}

function commandText({ words, command }: CommandNode, common: readonly Option[]): string {
  const args = command.registeredArguments.map(
    (one) => [one.required ? `<${one.name()}>` : `[${one.name()}]`, one.description] as const,
  );
  const isCommon = ({ long, description }: Option) =>
    common.some((one) => one.long === long && one.description === description);
  const also = command.options.filter(isCommon);
  const own = command.options.filter((option) => !also.includes(option));
  const rows = [...args.map(([name, text]) => row(name, text)), ...own.map(optionRow)];
  const names = [command.name(), ...command.aliases()];
  const alias = names.length === 1 ? '' : `, also \`${names.slice(1).join('`, `')}\``;
  const more = also.map(({ long }) => `\`${long}\``).join(', ');
  return [
    `### sluice ${words.join(' ')}\n`,
    wrapped(`${sentence(command)}${alias}.`),
    ...(rows.length === 0 ? [] : ['', table(rows)]),
    ...(also.length === 0 ? [] : ['', `And ${more}.`]),
    '',
  ].join('\n');
}

/** Returns prose in lines of at most 100 characters. */
function wrapped(text: string): string {
  return text.replaceAll(/(?=.{101})(.{1,100}) /g, '$1\n');
}

function sentence(command: Command): string {
  const text = command.description();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function optionRow(option: Option): string {
  const { defaultValue, argChoices, description } = option;
  const notes = [
    ...(argChoices === undefined ? [] : [argChoices.map((one) => `\`${one}\``).join(', ')]),
    ...(defaultValue === undefined ? [] : [`default \`${String(defaultValue)}\``]),
  ];
  return row(option.flags, [description, ...notes].join('; '));
}

function row(name: string, text: string): string {
  const cell = (one: string) => one.replaceAll('|', '\\|').replaceAll('<', '&lt;');
  return `| \`${name.replaceAll('|', '\\|')}\` | ${cell(text)} |`;
}

function table(rows: readonly string[]): string {
  return ['| | |', '| --- | --- |', ...rows].join('\n');
}
