const characters_max = 2_000;

/**
 * Returns the target of a browser after the sign-in: the path, query and fragment as a URL parser
 * writes them. Guarantee: it begins with exactly one slash, so no browser reads another host in it.
 * Returns `/` for a text that is no path of this server, or is too long.
 */
export function localPath(text: string | undefined): string {
  // Any host works: a path keeps the host, and another address changes it.
  const own = 'https://own.invalid';
  if (
    text === undefined ||
    !text.startsWith('/') ||
    text.length > characters_max ||
    !URL.canParse(text, own)
  )
    return '/';
  const { origin, pathname, search, hash } = new URL(text, own);
  const path = `${pathname}${search}${hash}`;
  return origin === own && !path.startsWith('//') ? path : '/';
}
