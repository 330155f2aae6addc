/**
 * Returns the target after the sign-in: `next` if it is a path of this server, otherwise the start.
 * Guarantee: it begins with exactly one slash, so no browser reads another host in it.
 */
export function localPath(next: string | undefined): string {
  // Any host works: a path keeps the host, and another address changes it.
  const own = 'https://own.invalid';
  if (next === undefined || !next.startsWith('/') || !URL.canParse(next, own)) return '/';
  const { origin, pathname, search, hash } = new URL(next, own);
  return origin === own && !pathname.startsWith('//') ? `${pathname}${search}${hash}` : '/';
}
