import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { environmentVariable } from '../../config/environment.ts';
import { WrongUsageError } from '../user_error.ts';

/** Returns the value of a variable in a configuration. */
export type Secrets = (name: string) => string | undefined;

/**
 * Opens the secrets of a move: from the environment, from a file of `NAME=value` lines, or by
 * asking once at a terminal, without echo. They stay in memory.
 */
export async function openSecrets(
  names: readonly string[],
  file: string | undefined,
  asks: boolean,
): Promise<Secrets> {
  const given = file === undefined ? new Map<string, string>() : readSecrets(file);
  const find = (name: string) => environmentVariable(name) ?? given.get(name);
  const missing = names.filter((name) => find(name) === undefined);
  if (asks && process.stdin.isTTY && missing.length > 0)
    for (const name of missing) {
      const value = await askHidden(`${name} (empty: later): `);
      if (value !== '') given.set(name, value);
    }
  return find;
}

function readSecrets(file: string): Map<string, string> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new WrongUsageError(`--secrets-file: ${file} cannot be read: ${code}.`);
  }
  const lines = text.split(/\r?\n/).filter((line) => /^\s*[A-Za-z_]\w*=/.test(line));
  return new Map(
    lines.map((line): [string, string] => {
      const at = line.indexOf('=');
      const value = line.slice(at + 1);
      const quoted = /^'(?<inner>.*)'$/.exec(value)?.groups?.['inner'];
      return [line.slice(0, at).trim(), quoted?.replaceAll(String.raw`'\''`, "'") ?? value];
    }),
  );
}

async function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, callback) => callback() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return (await terminal.question('')).trim();
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
