import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');

/** The program of a release, and its version. */
export type Release = { program: string; commit: string };

/**
 * Puts the checkout of a commit into a folder, with the packages of this one, and returns its
 * program. It must need the current versions of the packages.
 */
export async function layOutRelease(folder: string, commit: string): Promise<Release> {
  mkdirSync(folder, { recursive: true });
  const archive = join(folder, '..', 'release.tar');
  await promisify(execFile)('git', ['archive', '--format=tar', '-o', archive, commit], {
    cwd: root,
  });
  await promisify(execFile)('tar', ['-xf', archive, '-C', folder]);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const console_dist = join(root, 'console', 'dist');
  if (existsSync(console_dist)) symlinkSync(console_dist, join(folder, 'console', 'dist'));
  return { program: join(folder, 'server', 'main.ts'), commit };
}

/** Returns git's name of this checkout. */
export function presentCommit(): string {
  return execFileSync('git', ['describe', '--always', '--dirty'], { cwd: root }).toString().trim();
}
