import { createHash } from 'node:crypto';
import type http from 'node:http';
import { openFaultyServer } from './faulty_server.ts';
import type { Refusal } from './faulty_server.ts';
import type { FaultyServer } from './faulty_server.ts';
import { packFiles } from '../factories/plugins/plugin_archives.ts';

/** The faults and options of a version. */
export type Published = {
  /** Distribution tag, by default `latest`; null publishes without one. */
  tag?: string | null;
  /** Replaces the archive of the files. */
  archive?: Buffer;
  /** Replaces the right SHA-512; undefined omits it. */
  integrity?: string | undefined;
  /** Replaces the registry's own address. */
  tarball?: string;
};

/**
 * A registry of npm packages on 127.0.0.1 that serves metadata and archives like the public one.
 * `failNext` and similar methods are from `FaultyServer`. The path of metadata is `GET /<name>`,
 * the path of archives `GET /<name>/-/...`.
 */
export type PluginRegistry = FaultyServer & {
  /** Publishes a version, or replaces it. Files are in the folder `package`, as npm packs them. */
  publish(
    name: string,
    version: string,
    files: Record<string, string | Buffer>,
    options?: Published,
  ): void;
  /** Hides the package from requests without this bearer token from now on. */
  protect(name: string, token: string): void;
  /** The Authorization header of each request, undefined without one. */
  authorizations: (string | undefined)[];
};

type Package = {
  versions: Map<string, object>;
  tags: Record<string, string>;
  archives: Map<string, Buffer>;
  token?: string;
};

/**
 * Starts an empty one. Set `npm_registry_url` to its `endpoint` and allow 127.0.0.0/8 in
 * `outbound_allow`.
 */
export async function openPluginRegistry(): Promise<PluginRegistry> {
  const packages = new Map<string, Package>();
  const authorizations: (string | undefined)[] = [];
  const handle = (request: http.IncomingMessage, response: http.ServerResponse) => {
    authorizations.push(request.headers.authorization);
    const [name = '', file] = decodeURIComponent(request.url ?? '')
      .slice(1)
      .split('/-/');
    const found = packages.get(name);
    if (
      found === undefined ||
      (found.token !== undefined && request.headers.authorization !== `Bearer ${found.token}`)
    ) {
      refuse(request, response, 404, 'not_found');
      return;
    }
    const archive = file === undefined ? undefined : found.archives.get(file);
    if (file !== undefined)
      response
        .writeHead(archive === undefined ? 404 : 200, {
          'content-type': 'application/octet-stream',
        })
        .end(archive);
    else
      answer(response, 200, {
        name,
        'dist-tags': found.tags,
        versions: Object.fromEntries(found.versions),
      });
  };
  const server = await openFaultyServer(handle, refuse);
  const packageOf = (name: string): Package => {
    const found = packages.get(name) ?? { versions: new Map(), tags: {}, archives: new Map() };
    packages.set(name, found);
    return found;
  };
  return {
    ...server,
    authorizations,
    publish: (name, version, files, options = {}) => {
      const found = packageOf(name);
      const archive =
        options.archive ??
        packFiles({ 'package.json': JSON.stringify({ name, version }), ...files });
      const file = `${name.split('/').at(-1)}-${version}.tgz`;
      const integrity = Object.hasOwn(options, 'integrity')
        ? options.integrity
        : `sha512-${createHash('sha512').update(archive).digest('base64')}`;
      found.archives.set(file, archive);
      found.versions.set(version, {
        name,
        version,
        dist: { tarball: options.tarball ?? `${server.endpoint}/${name}/-/${file}`, integrity },
      });
      if (options.tag !== null) found.tags[options.tag ?? 'latest'] = version;
    },
    protect: (name, token) => void (packageOf(name).token = token),
  };
}

const refuse: Refusal = (_request, response, status, code) => {
  answer(response, status, { error: code });
};

function answer(response: http.ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
