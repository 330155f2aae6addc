import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

// `npm run lake` installs everything except moto, whose packages conflict with s3fs: `python3 -m
// venv peers/lake/moto && peers/lake/moto/bin/pip install 'moto[server]==5.2.5'`. Java on S3 needs
// iceberg-aws-bundle in peers/lake/jars.
const peers = join(import.meta.dirname, '../../peers/lake');
const python = join(peers, 'venv/bin/python');
const jars = join(peers, 'jars');
const run = promisify(execFile);

/** The reason to skip a test: a missing module of Python; false if all are there. */
export function without(...modules: string[]): string | false {
  const missing = modules.find(
    (module) => !existsSync(python) || spawnSync(python, ['-c', `import ${module}`]).status !== 0,
  );
  return missing === undefined ? false : `${missing} is not in peers/lake.`;
}

/** Returns the jars of Java clients with this prefix, separated by commas. */
export function jarsOf(...names: string[]): string {
  const there = existsSync(jars) ? readdirSync(jars) : [];
  return there
    .filter((file) => names.some((name) => file.startsWith(name)))
    .map((file) => join(jars, file))
    .join(',');
}

/** The reason to skip tests with Spark. */
export function withoutSpark(...names: string[]): string | false {
  if (names.some((name) => jarsOf(name) === ''))
    return `${names.join(' or ')} is not in peers/lake.`;
  return without('pyspark');
}

/** Runs a script of this folder in Python; returns the object that it prints last. */
export async function runClient(
  name: string,
  given: string[],
  env: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const script = join(import.meta.dirname, `${name}.py`);
  const { stdout } = await run(python, [script, ...given], { env: { ...process.env, ...env } });
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, unknown>;
}

/** The server of moto. */
export const moto_server = join(peers, 'moto/bin/moto_server');

/** The reason to skip tests with moto. */
export function withoutMoto(): string | false {
  return existsSync(moto_server) ? false : 'moto is not in peers/lake.';
}
