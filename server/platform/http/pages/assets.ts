import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/**
 * A file that pages load: `address` names its content by a hash, so it can be kept for ever under
 * it.
 */
export type Asset = { path: string; address: string; type: string; text: string };

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/**
 * Reads a stylesheet or a script of the repository. `modules` are the scripts that it imports as
 * `./name.js`: it then imports them under their addresses, so that a change of one of them changes
 * its own address too.
 */
export function readAsset(file: URL, modules: readonly Asset[] = []): Asset {
  const name = basename(file.pathname);
  const type = types[extname(name)];
  if (type === undefined) throw new Error(`${name} is neither a stylesheet nor a script.`);
  const read = readFileSync(file, 'utf8');
  const text = modules.reduce(
    (before, module) => before.replaceAll(`'./${basename(module.path)}'`, `'${module.address}'`),
    read,
  );
  const path = `/assets/${name}`;
  return {
    path,
    address: `${path}?v=${hash('sha256', text, 'base64url').slice(0, 16)}`,
    type,
    text,
  };
}

/**
 * Serves the files to anybody. Under its address a file never changes; under its path alone it is
 * asked for anew each time.
 */
export function serveAssets(app: FastifyInstance, assets: readonly Asset[]): void {
  for (const asset of assets) {
    const isAddress = (request: FastifyRequest) => request.url === asset.address;
    app.get(
      asset.path,
      { config: { scope: 'public', accepts_anything: true }, schema: { hide: true } },
      (request, reply) =>
        reply
          .type(asset.type)
          .header(
            'cache-control',
            isAddress(request) ? 'public, max-age=31536000, immutable' : 'no-cache',
          )
          .send(asset.text),
    );
  }
}
