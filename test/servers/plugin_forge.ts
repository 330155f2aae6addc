import { createHash } from 'node:crypto';
import type http from 'node:http';
import { openFaultyServer } from './faulty_server.ts';
import type { Refusal } from './faulty_server.ts';
import type { FaultyServer } from './faulty_server.ts';
import { packFiles } from '../factories/plugins/plugin_archives.ts';

/** A commit of a repository: its whole tree, and the folders that it changed. */
type Commit = { id: string; files: Record<string, string> };
type Repository = {
  branches: Map<string, Commit[]>;
  tags: Map<string, Commit>;
  release?: string;
  token?: string;
};

/**
 * GitHub and GitLab on 127.0.0.1: the parts of their REST interfaces for packages, over the same
 * repositories. Archives come from a second server, as GitHub's do, so that tests see what crosses
 * a redirect.
 */
export type PluginForge = {
  /**
   * Settings with these addresses: a repository is at `<github_url>/<name>` and
   * `<gitlab_url>/<name>`.
   */
  settings: { github_url: string; github_api_url: string; gitlab_url: string };
  github: FaultyServer;
  gitlab: FaultyServer;
  /** The server of the forge's archives. */
  archives: FaultyServer;
  /** Commits the whole tree to a branch, by default `main`, and returns the commit's id. */
  push(repository: string, files: Record<string, string>, branch?: string): string;
  /** Tags the newest commit of `main`; a release is an announced tag. */
  tag(repository: string, name: string, options?: { is_release: boolean }): void;
  /** Hides the repository from requests without this bearer token from now on. */
  protect(repository: string, token: string): void;
  /** Authorization headers by server, undefined for a request without one. */
  authorizations: Record<'github' | 'gitlab' | 'archives', (string | undefined)[]>;
  close(): Promise<void>;
};

type Answer = { status: number; json?: unknown; body?: Buffer; location?: string };
const missing: Answer = { status: 404, json: { message: 'Not Found' } };

/** Starts an empty one; allow 127.0.0.0/8 in `outbound_allow`. */
export async function openPluginForge(): Promise<PluginForge> {
  const repositories = new Map<string, Repository>();
  const authorizations: PluginForge['authorizations'] = { github: [], gitlab: [], archives: [] };
  const serve = (
    name: keyof PluginForge['authorizations'],
    reply: (url: URL, find: (repository: string) => Repository | undefined) => Answer,
  ) =>
    openFaultyServer((request, response) => {
      authorizations[name].push(request.headers.authorization);
      const find = (repository: string) => {
        const found = repositories.get(repository);
        return found?.token === undefined ||
          request.headers.authorization === `Bearer ${found.token}`
          ? found
          : undefined;
      };
      send(response, reply(new URL(request.url ?? '', 'http://forge.test'), find));
    }, refuse);
  const archives = await serve('archives', (url) => {
    const [, repository = '', ref = ''] =
      /^\/(.+)\/legacy\.tar\.gz\/(.+)$/.exec(decodeURIComponent(url.pathname)) ?? [];
    return archiveOf(repositories.get(repository), ref);
  });
  const github = await serve('github', (url, find) => replyAsGithub(url, find, archives.endpoint));
  const gitlab = await serve('gitlab', replyAsGitlab);
  return {
    settings: {
      github_url: github.endpoint,
      github_api_url: `${github.endpoint}/api/v3`,
      gitlab_url: gitlab.endpoint,
    },
    github,
    gitlab,
    archives,
    authorizations,
    push: (name, files, branch = 'main') => {
      const repository = repositories.get(name) ?? {
        branches: new Map<string, Commit[]>(),
        tags: new Map<string, Commit>(),
      };
      repositories.set(name, repository);
      const commits = repository.branches.get(branch) ?? [];
      const id = createHash('sha1')
        .update(JSON.stringify([name, branch, commits.length, files]))
        .digest('hex');
      repository.branches.set(branch, [{ id, files }, ...commits]);
      return id;
    },
    tag: (name, tag, options = { is_release: false }) => {
      const repository = repositories.get(name)!;
      repository.tags.set(tag, repository.branches.get('main')![0]!);
      if (options.is_release) repository.release = tag;
    },
    protect: (name, token) => void (repositories.get(name)!.token = token),
    close: async () => void (await Promise.all([github.close(), gitlab.close(), archives.close()])),
  };
}

function replyAsGithub(
  url: URL,
  find: (repository: string) => Repository | undefined,
  archives_url: string,
): Answer {
  const [, name = '', path = ''] =
    /^\/api\/v3\/repos\/([^/]+\/[^/]+)\/(.+)$/.exec(decodeURIComponent(url.pathname)) ?? [];
  const repository = find(name);
  if (repository === undefined) return missing;
  const [, space, beginning = ''] = /^git\/matching-refs\/(heads|tags)\/(.+)$/.exec(path) ?? [];
  if (space !== undefined) {
    const names = [...(space === 'heads' ? repository.branches : repository.tags).keys()].filter(
      (ref) => ref.startsWith(beginning),
    );
    return {
      status: 200,
      json: names.map((ref) => ({ ref: `refs/${space}/${ref}`, object: { type: 'commit' } })),
    };
  }
  if (path === 'commits')
    return commitsOf(repository, url.searchParams.get('sha'), url.searchParams.get('path'), 'sha');
  if (path === 'releases/latest') return releaseOf(repository);
  // The real one signs the address of its redirect, so that no token is needed there.
  if (path.startsWith('tarball/'))
    return {
      status: 302,
      location: `${archives_url}/${name}/legacy.tar.gz/${path.slice('tarball/'.length)}`,
    };
  return missing;
}

function replyAsGitlab(url: URL, find: (repository: string) => Repository | undefined): Answer {
  const [, name = '', path = ''] = /^\/api\/v4\/projects\/([^/]+)\/(.+)$/.exec(url.pathname) ?? [];
  const repository = find(decodeURIComponent(name));
  if (repository === undefined) return missing;
  const query = (key: string) => url.searchParams.get(key);
  const matching = (names: Iterable<string>) => {
    const per_page = Math.min(Number(query('per_page') ?? 20), 100);
    const from = (Number(query('page') ?? 1) - 1) * per_page;
    return [...names]
      .filter((ref) => ref.startsWith((query('search') ?? '').slice(1)))
      .slice(from, from + per_page)
      .map((ref) => ({ name: ref }));
  };
  if (path === 'repository/branches')
    return { status: 200, json: matching(repository.branches.keys()) };
  if (path === 'repository/tags') return { status: 200, json: matching(repository.tags.keys()) };
  if (path === 'repository/commits')
    return commitsOf(repository, query('ref_name'), query('path'), 'id');
  if (path === 'releases/permalink/latest') return releaseOf(repository);
  if (path === 'repository/archive.tar.gz') return archiveOf(repository, query('sha') ?? 'main');
  return missing;
}

/** Returns the newest commit that changed something below the path. */
function commitsOf(
  repository: Repository,
  branch: string | null,
  path: string | null,
  key: string,
): Answer {
  const commits = repository.branches.get(branch ?? 'main');
  if (commits === undefined) return missing;
  const below = (commit: Commit | undefined) =>
    JSON.stringify(
      Object.entries(commit?.files ?? {}).filter(
        ([name]) => path === null || name.startsWith(`${path}/`),
      ),
    );
  const changed = commits.filter((commit, index) => below(commit) !== below(commits[index + 1]));
  return { status: 200, json: changed.slice(0, 1).map((commit) => ({ [key]: commit.id })) };
}

function releaseOf(repository: Repository): Answer {
  return repository.release === undefined
    ? missing
    : { status: 200, json: { tag_name: repository.release } };
}

function archiveOf(repository: Repository | undefined, ref: string): Answer {
  const commits = [...(repository?.branches.values() ?? [])].flat();
  const commit =
    repository?.tags.get(ref) ??
    repository?.branches.get(ref)?.[0] ??
    commits.find(({ id }) => id.startsWith(ref));
  return commit === undefined
    ? missing
    : { status: 200, body: packFiles(commit.files, `plugin-${commit.id.slice(0, 7)}`) };
}

const refuse: Refusal = (_request, response, status, code) => {
  send(response, { status, json: { message: code } });
};

function send(response: http.ServerResponse, { status, json, body, location }: Answer): void {
  if (location !== undefined) response.setHeader('location', location);
  response.writeHead(status).end(body ?? (json === undefined ? undefined : JSON.stringify(json)));
}
