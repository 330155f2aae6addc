import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { root } from '../../child.ts';

/** A package that was built twice. */
export type Built = { file: string; sha256: string; started: Date; finished: Date };

/** Most differences between two builds in the error. */
const named_max = 10;

const environment = {
  ...process.env,
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
};

/**
 * Builds the package of a commit in two clones below the folder, each with its own packages. Throws
 * if the two differ in a byte, and names the files that do.
 */
export function buildTwice(commit: string, folder: string): Built {
  const started = new Date();
  const [one, other] = ['one', 'other'].map((name) => buildOnce(commit, join(folder, name)));
  if (sha256Of(one!) !== sha256Of(other!))
    throw new Error(`Two builds of ${commit} differ:\n${differences(one!, other!, folder)}`);
  return { file: one!, sha256: sha256Of(one!), started, finished: new Date() };
}

/** The SHA-256 of a file, in hexadecimal digits. */
export function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Runs a program with the Node that runs this one, and returns its output. */
export function run(program: string, words: string[], cwd = root): string {
  return execFileSync(program, words, {
    cwd,
    encoding: 'utf8',
    env: environment,
    maxBuffer: 256 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function buildOnce(commit: string, folder: string): string {
  const clone = join(folder, 'clone');
  mkdirSync(folder, { recursive: true });
  run('git', ['clone', '--quiet', '--no-checkout', root, clone]);
  run('git', ['checkout', '--quiet', '--detach', commit], clone);
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], clone);
  const told = run('npm', ['pack', '--json', '--silent', '--pack-destination', folder], clone);
  const [{ filename }] = JSON.parse(told.slice(told.search(/^\[/m))) as [{ filename: string }];
  return join(folder, filename);
}

function differences(one: string, other: string, folder: string): string {
  const folders = [one, other].map((file, index) => {
    const place = join(folder, `unpacked_${index}`);
    mkdirSync(place);
    run('tar', ['-xzf', file, '-C', place]);
    return place;
  });
  try {
    return run('diff', ['-rq', ...folders]) || 'only in the archive around the files';
  } catch (error) {
    const lines = (error as { stdout: string }).stdout.trim().split('\n');
    return [...lines.slice(0, named_max), `${lines.length} differences in all`].join('\n');
  }
}
