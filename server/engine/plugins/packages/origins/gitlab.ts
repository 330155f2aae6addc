import { invalidPackage } from '../../plugin.ts';
import { checkPlace } from './forge.ts';
import type { ForgeApi, Wanted } from './forge.ts';
import { textsOf, undefinedWhenMissing } from './forge_answers.ts';
import type { OriginDeps } from './origin.ts';
import { requestJson, requestOrigin } from './origin_request.ts';

const origin = 'GitLab';
const refs_per_page = 100;
/** Number of pages of branches or tags with a common beginning. */
const ref_pages_max = 50;

/**
 * Reads the parts of a URL's path: groups and project, and then nothing, or `-` followed by
 * `tree/...`, `commit/...`, `tags/...`, `releases[/<tag>]` or `archive/<ref>/<file>`. Throws
 * `PluginError` for other pages.
 */
export function readGitlabPlace(parts: string[]): { repository: string; wanted: Wanted } {
  const dash = parts.indexOf('-');
  const names = dash === -1 ? parts : parts.slice(0, dash);
  const repository = names.map((name, index) =>
    index === names.length - 1 ? name.replace(/\.git$/, '') : name,
  );
  const wanted = dash === -1 ? ({ kind: 'newest' } as const) : readTail(parts.slice(dash + 1));
  checkPlace(repository, wanted);
  return { repository: repository.join('/'), wanted };
}

function readTail([page, ...rest]: string[]): Wanted {
  const path = rest.join('/');
  if (page === 'tree') return { kind: 'path', parts: rest };
  if (page === 'commit') return { kind: 'commit', id: path };
  if (page === 'releases' && (path === '' || path === 'permalink/latest'))
    return { kind: 'release' };
  if (page === 'releases' || page === 'tags') return { kind: 'tag', name: path };
  if (page === 'archive' && rest.length >= 2) return { kind: 'path', parts: rest.slice(0, -1) };
  throw invalidPackage(
    'This page of GitLab is not a package. Give the address of the project, of a branch, tag, ' +
      'commit or release, or of a folder.',
  );
}

/** Returns GitLab's REST API (version 4) for one project. */
export function gitlabApi(
  deps: OriginDeps,
  repository: string,
  token: string | undefined,
): ForgeApi {
  const request = (path: string, query: Record<string, string | undefined> = {}) => {
    const url = new URL(
      `${deps.gitlab_url}/api/v4/projects/${encodeURIComponent(repository)}/${path}`,
    );
    for (const [name, value] of Object.entries(query))
      if (value !== undefined && value !== '') url.searchParams.set(name, value);
    // Redirects to another host drop a bearer token, but not GitLab's own header.
    return { origin, thing: `the project ${repository} or this part of it`, url, token };
  };
  return {
    title: `${repository} on GitLab`,
    listRefs: async (kind, beginning, signal) => {
      const path = `repository/${kind === 'branch' ? 'branches' : 'tags'}`;
      const asked = { search: `^${beginning}`, per_page: String(refs_per_page) };
      const names: string[] = [];
      for (let page = 1; page <= ref_pages_max; page += 1) {
        const found = await requestJson(
          deps,
          request(path, { ...asked, page: String(page) }),
          signal,
        );
        names.push(...textsOf(origin, found, 'name'));
        if (names.length < page * refs_per_page) break;
      }
      return names;
    },
    findNewestCommit: async (branch, folder, signal) => {
      const found = await requestJson(
        deps,
        request('repository/commits', { ref_name: branch, path: folder, per_page: '1' }),
        signal,
      );
      return textsOf(origin, found, 'id')[0];
    },
    findRelease: async (signal) => {
      const found = await requestJson(deps, request('releases/permalink/latest'), signal).catch(
        undefinedWhenMissing,
      );
      return found === undefined ? undefined : textsOf(origin, [found], 'tag_name')[0];
    },
    downloadArchive: (ref, signal) =>
      requestOrigin(deps, request('repository/archive.tar.gz', { sha: ref }), signal),
  };
}
