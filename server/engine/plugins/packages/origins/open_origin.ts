import { invalidPackage } from '../../plugin.ts';
import type { PluginError } from '../../plugin.ts';
import { openArchiveOrigin } from './archive_origin.ts';
import { openForgeOrigin } from './forge.ts';
import { githubApi, readGithubPlace } from './github.ts';
import { gitlabApi, readGitlabPlace } from './gitlab.ts';
import { openLocalOrigin } from './local.ts';
import { openNpmOrigin, readNpmAddress } from './npm.ts';
import type { Origin, OriginDeps } from './origin.ts';
import { findTool } from '../../tools/catalogue.ts';
import { http_url } from '../../tools/http_request/definition.ts';
import { openHttpOrigin, openToolOrigin } from './tool_origin.ts';

const url_characters_max = 800;

const public_gitlab_url = 'https://gitlab.com';

const npm_site_url = 'https://www.npmjs.com';

/**
 * Opens the origin of an address or of a folder in the server's plugin folder. It fetches nothing
 * yet. Throws `PluginError` with code `invalid` and the accepted forms of an address. Addresses: an
 * npm package (`name`, `@scope/name`, `name@range`, its page on npmjs.com), a repository on GitHub
 * or GitLab with its usual suffixes, or the https URL of an archive.
 */
export function openOrigin(source: { url: string } | { folder: string }, deps: OriginDeps): Origin {
  if ('folder' in source) return openLocalOrigin(source.folder, deps.plugin_dir);
  const address = source.url.trim();
  if (address === http_url) return openHttpOrigin();
  const tool = findTool(address);
  if (tool !== undefined && deps.tools !== undefined) return openToolOrigin(tool, deps.tools);
  if (address.length > url_characters_max)
    throw invalid(`The address is longer than ${url_characters_max} characters.`);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(address)) {
    const [shown_url = '', query] = address.replace(/#.*$/s, '').split('?', 2);
    return openNpmOrigin(
      readNpmAddress(shown_url),
      shown_url,
      deps,
      tokenOf(new URLSearchParams(query)),
    );
  }
  if (!URL.canParse(address)) throw invalid('The address cannot be read.');
  const url = new URL(address);
  if (url.username !== '' || url.password !== '')
    throw invalid(
      'The address has a user name or password in it; give a token as ?private_token=... instead.',
    );
  return openWebOrigin(url, `${url.origin}${url.pathname}`.replace(/\/+$/, ''), deps);
}

function openWebOrigin(url: URL, shown_url: string, deps: OriginDeps): Origin {
  const token = tokenOf(url.searchParams);
  const parts = url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decodePart);
  if (isOf(url, deps.github_url)) {
    const place = readGithubPlace(parts);
    return openForgeOrigin(
      'github',
      shown_url,
      place.wanted,
      githubApi(deps, place.repository, token ?? deps.tokens.github),
    );
  }
  if (isOf(url, npm_site_url)) return openNpmOrigin(readNpmPage(parts), shown_url, deps, token);
  const gitlab_url = [deps.gitlab_url, public_gitlab_url].find((forge) => isOf(url, forge));
  if (gitlab_url !== undefined) {
    const place = readGitlabPlace(parts);
    // The operator's token is only for the operator's GitLab.
    const given = token ?? (gitlab_url === deps.gitlab_url ? deps.tokens.gitlab : undefined);
    return openForgeOrigin(
      'gitlab',
      shown_url,
      place.wanted,
      gitlabApi({ ...deps, gitlab_url }, place.repository, given),
    );
  }
  if (url.protocol !== 'https:')
    throw invalid(
      `${url.protocol}// addresses are not fetched. Archives must have an https:// address.`,
    );
  return openArchiveOrigin(url, shown_url, deps);
}

function tokenOf(query: URLSearchParams): string | undefined {
  return query.get('private_token') ?? undefined;
}

/** Returns true for URLs of the site, with http or https, with or without www. */
function isOf(url: URL, site_url: string): boolean {
  const bare = (host: string) => host.replace(/^www\./, '');
  return (
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    bare(url.host) === bare(new URL(site_url).host)
  );
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid('The address has a % that encodes no character.');
  }
}

/** `/package/<name>[/v/<version>]` */
function readNpmPage(parts: string[]) {
  const [page, ...rest] = parts;
  const name = rest.splice(0, rest[0]?.startsWith('@') === true ? 2 : 1).join('/');
  if (page !== 'package' || (rest.length > 0 && (rest.length !== 2 || rest[0] !== 'v')))
    throw invalid('This page of npmjs.com is not a package.');
  return readNpmAddress(rest[1] === undefined ? name : `${name}@${rest[1]}`);
}

function invalid(what: string): PluginError {
  return invalidPackage(
    `${what} Give the name of an npm package, the address of a GitHub or GitLab repository, ` +
      'or the https address of a zip or tar.gz archive.',
  );
}
