import { createHash } from 'node:crypto';
import semver from 'semver';
import { PluginError, invalidPackage } from '../../plugin.ts';
import type { PluginPackage } from '../../plugin.ts';
import { readArchive } from '../archives/archive.ts';
import { assemblePackage } from '../content.ts';
import { isFields } from '../../../../platform/fields.ts';
import type { Origin, OriginDeps } from './origin.ts';
import { requestJson, requestOrigin, unreadable } from './origin_request.ts';

/**
 * A package of a registry and the requested version: an exact version, a range of semantic
 * versioning, or a distribution tag.
 */
export type NpmAddress = { name: string; wanted: string };

const origin = 'The npm registry';
const name_form = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
const name_characters_max = 214;

/**
 * Reads `name` or `@scope/name`, either with `@version`, `@range` or `@tag`; the default tag is
 * `latest`. Throws `PluginError` for anything else.
 */
export function readNpmAddress(address: string): NpmAddress {
  const at = address.indexOf('@', 1);
  const name = at === -1 ? address : address.slice(0, at);
  const wanted = at === -1 ? 'latest' : address.slice(at + 1).trim();
  if (!name_form.test(name) || name.length > name_characters_max)
    throw invalidPackage(
      'This is neither the name of an npm package nor an address. Names have lower-case letters, ' +
        'digits, "-", "_" and ".", and may begin with @scope/.',
    );
  if (wanted === '' || (semver.validRange(wanted) === null && !/^[A-Za-z][\w.-]*$/.test(wanted)))
    throw invalidPackage(
      'The part after the @ is neither a version, nor a range of versions, nor a ' +
        'distribution tag. Write for example name@1.2.3, name@^1.2 or name@latest.',
    );
  return { name, wanted };
}

/**
 * The origin of the package in the registry. Guarantee: as `Origin`, and the package's bytes have
 * the SHA-512 of the registry's metadata.
 */
export function openNpmOrigin(
  address: NpmAddress,
  shown_url: string,
  deps: OriginDeps,
  private_token?: string,
): Origin {
  const token = private_token ?? deps.tokens.npm;
  const read = (signal: AbortSignal) => readMetadata(address, deps, token, signal);
  return {
    kind: 'npm',
    shown_url,
    findLatest: async (signal) => pickVersion(address, await read(signal)),
    fetch: async (tag, signal) => {
      const metadata = await read(signal);
      const version = tag ?? pickVersion(address, metadata);
      const dist = version === null ? undefined : metadata.versions.get(version);
      if (version === null || dist === undefined)
        throw new PluginError(
          'not_found',
          `The npm registry has no version ${tag ?? address.wanted} of ${address.name}. ` +
            'Choose one that is published.',
        );
      return fetchVersion(address.name, version, dist, deps, token, signal);
    },
  };
}

type Dist = { tarball: string; integrity: string };
type Metadata = { tags: Map<string, string>; versions: Map<string, Dist> };

async function readMetadata(
  { name }: NpmAddress,
  deps: OriginDeps,
  token: string | undefined,
  signal: AbortSignal,
): Promise<Metadata> {
  const url = new URL(`${deps.npm_registry_url}/${name.replace('/', '%2f')}`);
  // The short form of the metadata, without readmes.
  const accept = 'application/vnd.npm.install-v1+json, application/json;q=0.5';
  const json = await requestJson(
    deps,
    { origin, thing: `the package ${name}`, url, accept, token },
    signal,
  );
  if (!isFields(json) || !isFields(json['versions']) || !isFields(json['dist-tags']))
    throw unreadable(origin);
  const versions = Object.entries(json['versions']).flatMap(
    ([version, entry]): [string, Dist][] => {
      const dist = isFields(entry) && isFields(entry['dist']) ? entry['dist'] : {};
      const { tarball, integrity } = dist;
      return typeof tarball === 'string' && semver.valid(version) !== null
        ? [[version, { tarball, integrity: typeof integrity === 'string' ? integrity : '' }]]
        : [];
    },
  );
  const tags = Object.entries(json['dist-tags']).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return { tags: new Map(tags), versions: new Map(versions) };
}

/**
 * Chooses like npm: the tag's version; of a range, the version tagged latest if it matches, or else
 * the highest.
 */
function pickVersion({ wanted }: NpmAddress, { tags, versions }: Metadata): string | null {
  if (semver.validRange(wanted) === null) {
    const tagged = tags.get(wanted);
    return tagged !== undefined && versions.has(tagged) ? tagged : null;
  }
  const latest = tags.get('latest');
  if (latest !== undefined && versions.has(latest) && semver.satisfies(latest, wanted))
    return latest;
  return semver.maxSatisfying([...versions.keys()], wanted);
}

async function fetchVersion(
  name: string,
  version: string,
  dist: Dist,
  deps: OriginDeps,
  token: string | undefined,
  signal: AbortSignal,
): Promise<PluginPackage> {
  const registry = new URL(deps.npm_registry_url);
  if (!URL.canParse(dist.tarball)) throw unreadable(origin);
  const url = new URL(dist.tarball);
  const isRegistry = url.host === registry.host;
  // Old metadata names the registry's own archives with http.
  if (isRegistry) url.protocol = registry.protocol;
  else if (url.protocol !== 'https:')
    throw new PluginError(
      'refused',
      `The npm registry has the archive of ${name} at an address that is not https. Choose ` +
        'another version.',
    );
  const bytes = await requestOrigin(
    deps,
    {
      origin,
      thing: `the archive of ${name} ${version}`,
      url,
      token: isRegistry ? token : undefined,
    },
    signal,
  );
  checkIntegrity(bytes, dist.integrity, `${name} ${version}`);
  return assemblePackage(await readArchive(bytes), version);
}

/** Metadata may list several hashes of the same bytes; one of the SHA-512 hashes must match. */
function checkIntegrity(bytes: Buffer, integrity: string, what: string): void {
  const expected = integrity.split(/\s+/).filter((hash) => hash.startsWith('sha512-'));
  if (expected.length === 0)
    throw new PluginError(
      'refused',
      `The npm registry has no SHA-512 for ${what}, so its integrity cannot be checked. Choose ` +
        'a version that was published since 2017.',
    );
  const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  if (!expected.some((hash) => hash.replace(/\?.*$/, '') === found))
    throw new PluginError(
      'refused',
      `The archive of ${what} is not the one that was published: its SHA-512 differs from the ` +
        `registry's metadata. Do not install it.`,
    );
}
