import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the checkout, or the `build` of the package. */
const root = join(import.meta.dirname, '../..');

/** The release in package.json: in this folder, or above a built one. */
export const release = releaseOf(root) ?? releaseOf(join(root, '..'))!;

/**
 * The release with the commit that this server was built from, as in `1.0.0+1a2b3c4d5e6f`; without
 * a commit if neither the package nor a checkout names it.
 */
export const version = versionIn(root);

/**
 * Returns the version of the server in a folder: of a checkout, or of a package, which has a
 * `commit`.
 */
export function versionIn(folder: string): string {
  const commit = read(join(folder, 'commit')) ?? commitOf(join(folder, '.git'));
  return commit === undefined ? release : `${release}+${commit.slice(0, 12)}`;
}

/** Returns the commit of a repository, read from its files because git may be missing. */
export function commitOf(repository: string): string | undefined {
  // In a worktree, .git is a file that names a folder, which in turn names the folder of the refs.
  const linked = read(repository)?.replace(/^gitdir: /, '');
  const git = linked ?? repository;
  const head = read(join(git, 'HEAD'));
  const ref = /^ref: (.+)$/.exec(head ?? '')?.[1];
  if (ref === undefined) return asCommit(head);
  const common = read(join(git, 'commondir'));
  const folder = common === undefined ? git : join(git, common);
  const packed = read(join(folder, 'packed-refs')) ?? '';
  const line = packed.split('\n').find((one) => one.endsWith(` ${ref}`));
  return asCommit(read(join(folder, ref)) ?? line?.split(' ')[0]);
}

function releaseOf(folder: string): string | undefined {
  const manifest = read(join(folder, 'package.json'));
  return manifest && (JSON.parse(manifest) as { version: string }).version;
}

function asCommit(text: string | undefined): string | undefined {
  return text !== undefined && /^[0-9a-f]{40,64}$/.test(text) ? text : undefined;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
