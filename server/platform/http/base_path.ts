import type { HttpContext } from './context.ts';

type Context = { config: Pick<HttpContext['config'], 'public_url'> };

/**
 * Returns the path prefix of the server's public URL, without a trailing slash: empty for
 * `https://example.com`, `/sluice` for `https://example.com/sluice`.
 */
export function basePath({ config }: Context): string {
  return new URL(config.public_url).pathname.replace(/\/$/, '');
}

/**
 * Returns the path and query of a request without the base path. So the routes are the same whether
 * the proxy removes it or not, and whatever host a client puts before the path (RFC 9112, 3.2.2).
 * The path begins with one slash: SDKs are often configured with a host that ends with a slash, and
 * browsers read two leading slashes as a host.
 */
export function withoutBasePath(context: Context, url: string): string {
  const path = withOneSlash(url.replace(/^https?:\/\/[^/?#]*\/?/i, '/'));
  return withOneSlash(withoutBase(context, path));
}

function withOneSlash(path: string): string {
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path;
}

function withoutBase(context: Context, path: string): string {
  const base = basePath(context);
  if (base === '' || !path.startsWith(base)) return path;
  const rest = path.slice(base.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : path;
}
