import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { extract } from 'tar';
import { root } from '../house/source_files.ts';

const run = promisify(execFile);

/** The Keycloak of the campaign. */
export const keycloak_version = '26.7.3';
/** Foreign servers and clients that campaigns download; git ignores it. */
const peers = join(root, 'peers');

/** The reason why this machine has no Keycloak, as a sentence; undefined if it can have one. */
export async function whyNoKeycloak(): Promise<string | undefined> {
  for (const [program, packages] of [
    ['java', 'openjdk-17-jre-headless'],
    ['mvn', 'maven'],
    ['python3', 'python3-venv'],
  ] as const) {
    const found = await run(program, ['--version']).catch(() => undefined);
    if (found === undefined) return `${program} is not installed (apt-get install ${packages}).`;
  }
  return undefined;
}

/**
 * The folder of the unpacked distribution. Maven fetches it the first time, from its configured
 * source; concurrent processes do not disturb each other.
 */
export async function findKeycloak(say: (line: string) => void): Promise<string> {
  const home = join(peers, `keycloak-${keycloak_version}`);
  if (existsSync(home)) return home;
  say(`Downloading Keycloak ${keycloak_version} (170 MB)`);
  const unfinished = `${home}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  const artifact = `org.keycloak:keycloak-quarkus-dist:${keycloak_version}:tar.gz`;
  const options = [`-Dartifact=${artifact}`, `-DoutputDirectory=${unfinished}`];
  await run('mvn', ['-q', '-B', 'dependency:copy', ...options]);
  const archive = readdirSync(unfinished).find((name) => name.endsWith('.tar.gz')) ?? '';
  await extract({ file: join(unfinished, archive), cwd: unfinished, strip: 1 });
  rmSync(join(unfinished, archive));
  if (!existsSync(home)) renameSync(unfinished, home);
  else rmSync(unfinished, { recursive: true });
  return home;
}
