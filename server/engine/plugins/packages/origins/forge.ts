import { PluginError, invalidPackage } from '../../plugin.ts';
import type { PluginFiles } from '../../plugin.ts';
import { readArchive } from '../archives/archive.ts';
import { assemblePackage } from '../content.ts';
import { nameFault } from '../archives/file_names.ts';
import type { Origin } from './origin.ts';

/**
 * The part of a repository that an address names. `path` is a branch, tag or commit followed by the
 * folder. Only the forge can separate them, since branches have slashes too.
 */
export type Wanted =
  | { kind: 'newest' }
  | { kind: 'release' }
  | { kind: 'tag'; name: string }
  | { kind: 'commit'; id: string }
  | { kind: 'path'; parts: string[] };

/**
 * The requests about one repository that both GitHub and GitLab answer. Guarantee of each: as
 * `requestOrigin`.
 */
export type ForgeApi = {
  /** The name of the forge and of the repository, for sentences. */
  title: string;
  /** Lists names of branches or tags that begin with the text, in any order. */
  listRefs(kind: 'branch' | 'tag', beginning: string, signal: AbortSignal): Promise<string[]>;
  /**
   * Returns the id of the newest commit, of the given branch and below the given folder; undefined
   * if none exists.
   */
  findNewestCommit(
    branch: string | undefined,
    folder: string,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** Returns the tag of the newest release, undefined if none exists. */
  findRelease(signal: AbortSignal): Promise<string | undefined>;
  /** Downloads the repository at a commit, tag or branch, as an archive. */
  downloadArchive(ref: string, signal: AbortSignal): Promise<Buffer>;
};

/**
 * A tag, branch or commit as git allows them (git check-ref-format), so that a name cannot become
 * another part of a URL.
 */
const ref_form =
  /^(?!.*(?:\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)))[^\s~^:?*[\]\\\p{Cc}./-][^\s~^:?*[\]\\\p{Cc}]*(?<![./])$/u;
const commit_form = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/**
 * The origin of a package in a repository, or in a folder of it. A tag is a git tag or the full id
 * of a commit.
 */
export function openForgeOrigin(
  kind: 'github' | 'gitlab',
  shown_url: string,
  wanted: Wanted,
  api: ForgeApi,
): Origin {
  const findTag = async ({ ref, branch, folder }: Place, signal: AbortSignal) =>
    ref ?? (await api.findNewestCommit(branch, folder, signal)) ?? null;
  return {
    kind,
    shown_url,
    findLatest: async (signal) => findTag(await findPlace(wanted, api, signal), signal),
    fetch: async (given, signal) => {
      const place = await findPlace(wanted, api, signal);
      const tag = given ?? (await findTag(place, signal));
      if (tag === null)
        throw new PluginError(
          'not_found',
          `${api.title} has no commit ` +
            `yet${place.folder === '' ? '' : ` in the folder ${place.folder}`}. Check the ` +
            'address.',
        );
      if (!ref_form.test(tag))
        throw invalidPackage(
          'This is not the name of a git tag, branch or commit. Choose one that the ' +
            'repository has.',
        );
      const files = await readArchive(await api.downloadArchive(tag, signal));
      return assemblePackage(takeFolder(files, place.folder, api.title), tag);
    },
  };
}

/**
 * A part of a repository: at `ref`, or else at the newest commit of the branch (undefined: the
 * default one). An empty folder means the whole repository.
 */
type Place = { ref: string | undefined; branch: string | undefined; folder: string };

async function findPlace(wanted: Wanted, api: ForgeApi, signal: AbortSignal): Promise<Place> {
  const at = (ref: string, folder = ''): Place => ({ ref, branch: undefined, folder });
  switch (wanted.kind) {
    case 'newest':
      return { ref: undefined, branch: undefined, folder: '' };
    case 'tag':
      return at(wanted.name);
    case 'commit':
      return at(wanted.id);
    case 'release': {
      const tag = await api.findRelease(signal);
      if (tag === undefined)
        throw new PluginError(
          'not_found',
          `${api.title} has no release that can be seen. Publish one, give a token if the ` +
            'repository is private, or give the address of a branch.',
        );
      return at(tag);
    }
    case 'path':
      return partPath(wanted.parts, api, signal);
  }
}

/**
 * Finds the longest branch, or else tag, that the path begins with; the rest is the folder. A
 * commit counts if no branch or tag has its name.
 */
async function partPath(parts: string[], api: ForgeApi, signal: AbortSignal): Promise<Place> {
  const first = parts[0]!;
  const rest = parts.slice(1).join('/');
  if (commit_form.test(first)) return { ref: first, branch: undefined, folder: rest };
  const path = parts.join('/');
  for (const kind of ['branch', 'tag'] as const) {
    const names = (await api.listRefs(kind, first, signal)).filter(
      (name) => path === name || path.startsWith(`${name}/`),
    );
    const [name] = names.sort((one, other) => other.length - one.length);
    if (name === undefined) continue;
    const folder = path.slice(name.length + 1);
    return kind === 'branch'
      ? { ref: undefined, branch: name, folder }
      : { ref: name, branch: undefined, folder };
  }
  if (/^[0-9a-f]{7,}$/.test(first)) return { ref: first, branch: undefined, folder: rest };
  throw new PluginError(
    'not_found',
    `${api.title} has no branch, tag or commit that "${path}" begins with. Check the address.`,
  );
}

function takeFolder(files: PluginFiles, folder: string, title: string): PluginFiles {
  if (folder === '') return files;
  const inside = Object.entries(files).filter(([name]) => name.startsWith(`${folder}/`));
  if (inside.length === 0)
    throw new PluginError(
      'not_found',
      `${title} has no folder ${folder} at this version. Check the address.`,
    );
  return Object.fromEntries(inside.map(([name, text]) => [name.slice(folder.length + 1), text]));
}

/**
 * Checks a repository's names in an address, so that they can become parts of other URLs. Throws
 * `PluginError` for names that are invalid for every forge or for git.
 */
export function checkPlace(repository: string[], wanted: Wanted): void {
  const isName = (part: string) => /^[\w.-]+$/.test(part) && part !== '.' && part !== '..';
  if (repository.length < 2 || !repository.every(isName))
    throw invalidPackage(
      'The address names no repository. It must be followed by the owner and the name, as in ' +
        '/acme/plugin.',
    );
  if (!isSafe(wanted))
    throw invalidPackage(
      'The part after the repository in the address is not a branch, tag, commit or folder. Open ' +
        'its page and copy the address from there.',
    );
}

function isSafe(wanted: Wanted): boolean {
  if (wanted.kind === 'tag') return ref_form.test(wanted.name);
  if (wanted.kind === 'commit') return ref_form.test(wanted.id);
  return wanted.kind !== 'path' || nameFault(wanted.parts.join('/')) === undefined;
}
