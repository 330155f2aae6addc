import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folderAroundTests } from '../../test/around_tests.ts';
import { commitOf, release, versionIn } from './version.ts';

const folder = folderAroundTests();

test('the commit is read from a branch, a detached head, packed refs and a worktree', () => {
  const checkout = join(folder, 'checkout');
  mkdirSync(checkout);
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.com', ...words], {
      cwd: checkout,
      encoding: 'utf8',
    }).trim();
  git('init', '--quiet', '--initial-branch', 'topic/one');
  assert.equal(versionIn(checkout), release, 'there is no commit yet');
  git('commit', '--quiet', '--allow-empty', '-m', 'first');
  const first = git('rev-parse', 'HEAD');
  assert.equal(commitOf(join(checkout, '.git')), first);
  assert.equal(versionIn(checkout), `${release}+${first.slice(0, 12)}`);
  git('pack-refs', '--all');
  assert.equal(commitOf(join(checkout, '.git')), first);
  git('worktree', 'add', '--quiet', '-b', 'other', '../worktree');
  git('commit', '--quiet', '--allow-empty', '-m', 'second');
  assert.equal(commitOf(join(folder, 'worktree', '.git')), first);
  git('checkout', '--quiet', '--detach');
  assert.equal(commitOf(join(checkout, '.git')), git('rev-parse', 'HEAD'));
});

test('a package says its commit, and nothing around it has a say', () => {
  const [built, plain] = [join(folder, 'checkout', 'build'), join(folder, 'plain')];
  for (const one of [built, plain]) mkdirSync(one, { recursive: true });
  writeFileSync(join(built, 'commit'), `${'ab'.repeat(20)}\n`);
  assert.equal(versionIn(built), `${release}+abababababab`);
  assert.equal(versionIn(plain), release);
  writeFileSync(join(plain, '.git'), 'gitdir: /nowhere\n');
  assert.equal(versionIn(plain), release);
});
