import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram } from '../programs.ts';
import { asNamedUser, asOrdinaryUser } from './ordinary_user.ts';

const run = promisify(execFile);
const nameless = 54_321;
const is_root = process.getuid?.() === 0;

let root: string;

before(async () => {
  // The folder for temporary files of a test run is its owner's alone.
  root = await mkdtemp('/tmp/sluice-nameless-');
  if (is_root) await chown(root, nameless, nameless);
  await chmod(root, 0o700);
});

after(() => rm(root, { recursive: true, force: true }));

/** Runs lines of a module as the user id without a name, and gives what they print. */
async function asNameless(lines: string[]): Promise<string> {
  const here = import.meta.dirname;
  const text = [
    `import { asNamedUser } from '${here}/ordinary_user.ts';`,
    `import { findPostgresPrograms, prepareCluster } from '${here}/folder.ts';`,
    ...lines,
  ].join('\n');
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', text], {
    uid: nameless,
    gid: nameless,
    cwd: root,
    env: { TMPDIR: root },
  });
  return stdout.trim();
}

test('PostgreSQL gets its data folder under a user id without a name', async () => {
  if (!is_root) return;
  const folder = join(root, 'postgres');
  const password = await asNameless([
    `console.log(await prepareCluster('${folder}', await findPostgresPrograms(), []));`,
  ]);
  assert.match(password, /^[0-9a-f]{48}$/);
});

test('libnss_wrapper is used where it is installed', async () => {
  if (!is_root) return;
  const words = await asNameless([
    `const words = await asNamedUser('${root}', async () => '/lib/wrapper.so');`,
    `console.log(words.slice(1).join(' '));`,
  ]);
  assert.equal(
    words,
    `LD_PRELOAD=/lib/wrapper.so NSS_WRAPPER_PASSWD=${root}/passwd NSS_WRAPPER_GROUP=${root}/group`,
  );
});

test('root becomes a user who has a name, and a user with a name stays as they are', async () => {
  assert.deepEqual(await asNamedUser(root), []);
  if (!is_root) return;
  const [program = '', ...words] = await asOrdinaryUser();
  const id = findProgram('id') ?? 'id';
  const { stdout } = await run(program, [...words, id, '-un']);
  assert.notEqual(stdout.trim(), 'root');
});
