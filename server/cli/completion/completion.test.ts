import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { describedProgram } from '../commands.ts';
import { completionOf } from './completion.ts';
import { allNodes, commandTree } from './command_tree.ts';

const program = describedProgram();
const nodes = allNodes(commandTree(program));

async function scriptFor(shell: 'bash' | 'zsh' | 'fish'): Promise<string> {
  let script = '';
  const output = {
    is_terminal: false,
    columns: 80,
    write: (text: string) => void (script += text),
  };
  assert.equal(await completionOf(program)(output, shell), 0);
  return script;
}

/** Returns what a shell offers behind each line, which one process answers. */
function offered(shell: string, program_text: string): string[][] {
  const { status, stdout, stderr } = spawnSync(shell, ['-c', program_text], { encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').filter((word) => word !== ''));
}

test('bash offers the commands and options behind each command', async () => {
  const script = await scriptFor('bash');
  const asks = nodes.map(({ words }) => ['sluice', ...words]);
  const look = (words: string[]) =>
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); ` +
    `COMP_CWORD=${words.length - 1}; COMPREPLY=(); _sluice; echo "\${COMPREPLY[*]}"`;
  const commands = offered(
    'bash',
    [script, ...asks.map((words) => look([...words, '']))].join('\n'),
  );
  const options = offered(
    'bash',
    [script, ...asks.map((words) => look([...words, '--']))].join('\n'),
  );
  nodes.forEach(({ words, inner, command }, at) => {
    const names = inner.flatMap(({ command: one }) => [one.name(), ...one.aliases()]);
    const values = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
    assert.deepEqual(commands[at] ?? [], [...names, ...values], words.join(' '));
    const flags = command.options.flatMap(({ long }) => long ?? []);
    assert.deepEqual(
      (options[at] ?? []).filter((one) => one !== '--help'),
      flags,
      words.join(' '),
    );
  });
  // Words that a person typed in between do not matter.
  const typed = ['sluice', 'exports', '--json', 'backfill', 'runs', '--fr'];
  assert.deepEqual(offered('bash', `${script}\n${look(typed)}`), [['--from']]);
});

for (const shell of ['zsh', 'fish'] as const)
  test(`${shell} takes the script, with every command and option in it`, async (context) => {
    const script = await scriptFor(shell);
    for (const { words, command } of nodes) {
      if (words.length > 0) assert.ok(script.includes(`' ${words.join(' ')}'`), words.join(' '));
      for (const { long } of command.options)
        assert.ok(script.includes(shell === 'fish' ? `-l ${long!.slice(2)} ` : `'${long}:`), long);
    }
    const { error, status, stderr } = spawnSync(shell, ['-n', '/dev/stdin'], {
      input: script,
      encoding: 'utf8',
    });
    if (error !== undefined) return context.skip(`${shell} is not installed`);
    assert.deepEqual([status, stderr], [0, '']);
  });
