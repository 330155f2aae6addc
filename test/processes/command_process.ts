// Runs command lines of `sluice` for a test, one after another in one process, which loads them
// once. Each message is a `CommandLine`; the answer is the output of the command. Ends with its
// parent.
import process from 'node:process';
import { run } from '../../server/cli/commands.ts';
import type { CommandLine, Said } from './sluice_process.ts';

process.on('message', ({ words, environment }: CommandLine) => {
  const said: Said = { code: null, out: '', err: '' };
  const keep = (name: 'out' | 'err') => (text: string | Uint8Array) => {
    said[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
    return true;
  };
  Object.assign(process.stdout, { write: keep('out') });
  Object.assign(process.stderr, { write: keep('err') });
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  void run(['node', 'sluice', ...words]).then((code) => process.send!({ ...said, code }));
});
process.on('disconnect', () => process.exit());
