import type { Command, Option } from 'commander';
import type { Output } from '../client/print.ts';
import { allNodes, commandTree } from './command_tree.ts';
import type { CommandNode } from './command_tree.ts';

/** The words that can follow the words of a command. */
type Completed = {
  /** The words, each with a space before: the name of a case in the scripts. */
  at: string;
  commands: [word: string, description: string][];
  options: Option[];
};

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** `sluice completion`: prints the completion script of a shell. */
export function completionOf(program: Command) {
  return async (output: Output, shell: keyof typeof scripts): Promise<number> => {
    output.write(scripts[shell](allNodes(commandTree(program)).map(completedBehind)));
    return 0;
  };
}

function completedBehind({ words, command, inner }: CommandNode): Completed {
  const values = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  return {
    at: words.map((word) => ` ${word}`).join(''),
    commands: [
      ...inner.flatMap(({ command: one }) =>
        [one.name(), ...one.aliases()].map((name): [string, string] => [name, one.description()]),
      ),
      ...values.map((value): [string, string] => [value, '']),
    ],
    options: [...command.options, ...(words.length === 0 ? [] : [helpOption])],
  };
}

const helpOption = { long: '--help', short: '-h', description: 'show help' } as Option;

/**
 * Returns shell code that finds the words of the command typed so far, in the common syntax of bash
 * and zsh.
 */
function walkedWords(all: readonly Completed[], words: string): string {
  const known = all.filter(({ at }) => at !== '').map(({ at }) => quoted(at));
  return `  local at='' word
  for word in ${words}; do
    case "$at $word" in
      ${known.join('|')}) at="$at $word" ;;
    esac
  done
`;
}

function bashScript(all: Completed[]): string {
  const cases = all.map(({ at, commands, options }) => {
    const names = options.flatMap(({ long, short }) => [long ?? [], short ?? []].flat());
    const words = commands.map(([word]) => word);
    const options_line = `options=${quoted(names.join(' '))}`;
    return `    ${quoted(at)}) ${options_line}; words=${quoted(words.join(' '))} ;;`;
  });
  return `# bash completion of sluice: source <(sluice completion bash)
_sluice() {
  local typed=\${COMP_WORDS[COMP_CWORD]} options='' words=''
${walkedWords(all, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}  case "$at" in
${cases.join('\n')}
  esac
  [[ $typed == -* ]] && words=$options
  COMPREPLY=($(compgen -W "$words" -- "$typed"))
}
complete -o default -F _sluice sluice
`;
}

function zshScript(all: Completed[]): string {
  const described = (word: string, description: string) =>
    quoted(`${word.replaceAll(':', '\\:')}:${description}`);
  const cases = all.map(({ at, commands, options }) => {
    const words = commands.map(([word, description]) => described(word, description));
    const flags = options.flatMap(({ long, description }) =>
      typeof long === 'string' ? [described(long, description)] : [],
    );
    return `    ${quoted(at)}) found=(${words.join(' ')}); options=(${flags.join(' ')}) ;;`;
  });
  return `#compdef sluice
# zsh completion of sluice: source <(sluice completion zsh), behind compinit
_sluice() {
  local -a found options
${walkedWords(all, '"${(@)words[2,CURRENT-1]}"')}  case "$at" in
${cases.join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option options
  elif (( \${#found} )); then
    _describe command found
  else
    _files
  fi
}
compdef _sluice sluice
`;
}

function fishScript(all: Completed[]): string {
  const known = all.filter(({ at }) => at !== '').map(({ at }) => quoted(at));
  const lines = all.flatMap(({ at, commands, options }) => {
    const here = `complete -c sluice -n '__sluice_at "${at}"'`;
    return [
      ...commands.map(([word, text]) => `${here} -f -a ${quoted(word)} -d ${quoted(text)}`),
      ...options.map(({ long, short, required, optional, description }) => {
        const names = [
          ...(typeof long === 'string' ? [`-l ${long.slice(2)}`] : []),
          ...(typeof short === 'string' ? [`-s ${short.slice(1)}`] : []),
        ];
        const value = required || optional ? ' -r' : '';
        return `${here} ${names.join(' ')}${value} -d ${quoted(description)}`;
      }),
    ];
  });
  return `# fish completion of sluice: sluice completion fish | source
function __sluice_at
    set -l at ''
    for word in (commandline -opc)[2..]
        switch "$at $word"
            case ${known.join(' ')}
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}

/** Quotes a text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}
