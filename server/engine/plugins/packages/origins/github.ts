import { invalidPackage } from '../../plugin.ts';
import { checkPlace } from './forge.ts';
import type { ForgeApi, Wanted } from './forge.ts';
import { textsOf, undefinedWhenMissing } from './forge_answers.ts';
import type { OriginDeps } from './origin.ts';
import { requestJson, requestOrigin } from './origin_request.ts';

const origin = 'GitHub';

/**
 * Reads the parts of a URL's path: owner, name, and then nothing, `tree/...`, `commit/...`,
 * `releases[/latest]`, `releases/tag/...` or `archive/....zip`. Throws `PluginError` for other
 * pages.
 */
export function readGithubPlace(parts: string[]): { repository: string; wanted: Wanted } {
  const [owner = '', name = '', ...tail] = parts;
  const repository = [owner, name.replace(/\.git$/, '')];
  const wanted = readTail(tail);
  checkPlace(repository, wanted);
  return { repository: repository.join('/'), wanted };
}

function readTail([page, ...rest]: string[]): Wanted {
  const path = rest.join('/');
  if (page === undefined) return { kind: 'newest' };
  if (page === 'tree') return { kind: 'path', parts: rest };
  if (page === 'commit') return { kind: 'commit', id: path };
  if (page === 'releases' && (path === '' || path === 'latest')) return { kind: 'release' };
  if (page === 'releases' && rest[0] === 'tag')
    return { kind: 'tag', name: rest.slice(1).join('/') };
  const archived =
    page === 'archive' ? /^(refs\/tags\/|refs\/heads\/)?(.+)\.(?:zip|tar\.gz)$/.exec(path) : null;
  if (archived?.[2] === undefined)
    throw invalidPackage(
      'This page of GitHub is not a package. Give the address of the repository, of a branch, ' +
        'tag, commit or release, or of a folder.',
    );
  return archived[1] === 'refs/tags/'
    ? { kind: 'tag', name: archived[2] }
    : { kind: 'path', parts: archived[2].split('/') };
}

/**
 * Returns GitHub's REST API for one repository; also for GitHub Enterprise, which has it under
 * /api/v3.
 */
export function githubApi(
  deps: OriginDeps,
  repository: string,
  token: string | undefined,
): ForgeApi {
  const request = (path: string, query: Record<string, string | undefined> = {}) => {
    const url = new URL(`${deps.github_api_url}/repos/${repository}/${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined && value !== '') url.searchParams.set(name, value);
    return {
      origin,
      thing: `the repository ${repository} or this part of it`,
      url,
      accept: 'application/vnd.github+json',
      token,
    };
  };
  return {
    title: `${repository} on GitHub`,
    listRefs: async (kind, beginning, signal) => {
      const space = kind === 'branch' ? 'heads' : 'tags';
      const found = await requestJson(
        deps,
        request(`git/matching-refs/${space}/${encodeURIComponent(beginning)}`),
        signal,
      );
      return textsOf(origin, found, 'ref').map((ref) => ref.slice(`refs/${space}/`.length));
    },
    findNewestCommit: async (branch, folder, signal) => {
      const found = await requestJson(
        deps,
        request('commits', { sha: branch, path: folder, per_page: '1' }),
        signal,
      );
      return textsOf(origin, found, 'sha')[0];
    },
    findRelease: async (signal) => {
      const found = await requestJson(deps, request('releases/latest'), signal).catch(
        undefinedWhenMissing,
      );
      return found === undefined ? undefined : textsOf(origin, [found], 'tag_name')[0];
    },
    downloadArchive: (ref, signal) =>
      requestOrigin(
        deps,
        request(`tarball/${ref.split('/').map(encodeURIComponent).join('/')}`),
        signal,
      ),
  };
}
