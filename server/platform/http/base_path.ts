import type { HttpContext } from './context.ts';

type Context = { config: Pick<HttpContext['config'], 'public_url'> };

/**
 * The path under which the server is reached, without a slash at its end: empty for
 * `https://example.com`, `/sluice` for `https://example.com/sluice`.
 */
export function basePath({ config }: Context): string {
  return new URL(config.public_url).pathname.replace(/\/$/, '');
}

/**
 * The path and query of a request without the base path, so that the routes are the same whether
 * the proxy in front takes it off or not, and whichever host a client names in front of the path
 * (RFC 9112, 3.2.2). It begins with one slash: a host that ends with a slash is a common setting of
 * SDKs, and two at the beginning are a host to browsers.
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
