import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** What a command said, and its exit code. */
export type Said = { code: number | null; out: string; err: string };

const main = join(import.meta.dirname, '..', '..', 'server', 'main.ts');

/**
 * Runs `sluice` with these words, in an environment that has `environment` and nothing of ours, but
 * for where compiled modules are kept. `meanwhile` is given what ends it with a signal.
 */
export function runSluice(
  words: string[],
  environment: Record<string, string>,
  meanwhile?: (kill: (signal: NodeJS.Signals) => void) => Promise<unknown>,
): Promise<Said> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const child = spawn(process.execPath, [main, ...words], {
    env: { PATH, NODE_COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text));
  return new Promise((resolve, reject) => {
    meanwhile?.((signal) => void child.kill(signal)).catch(reject);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...said }));
  });
}
