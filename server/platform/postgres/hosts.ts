/** Names of libpq for the server that accepts writes; its other names do not apply here. */
const wanted = new Set(['read-write', 'primary']);

/**
 * Returns one URL for each server in a PostgreSQL URL, in order:
 * `postgres://user@a:5432,b/base?target_session_attrs=read-write` has two. Throws a sentence for an
 * invalid URL, or one that requests a read-only server.
 */
export function splitHosts(url: string): string[] {
  const parts = /^(postgres(?:ql)?:\/\/)([^/?#]*)([^?#]*)(\?[^#]*)?$/.exec(url);
  if (parts === null) throw new Error('must be a URL that begins with postgres://.');
  const [, scheme = '', authority = '', path = '', query = ''] = parts;
  const at = authority.lastIndexOf('@') + 1;
  const hosts = authority.slice(at).split(',');
  if (hosts.length > 1 && hosts.includes('')) throw new Error('names a server without a host.');
  const { attributes, rest } = withoutAttributes(query);
  if (attributes !== null && !wanted.has(attributes))
    throw new Error('must ask for target_session_attrs=read-write, or leave it out.');
  return hosts.map((host) => {
    const single = `${scheme}${authority.slice(0, at)}${host}${path}${rest}`;
    // A socket's folder is in the query, and the host is empty then.
    if (host !== '' && !URL.canParse(single)) throw new Error('names a server that is no address.');
    return single;
  });
}

function withoutAttributes(query: string): { attributes: string | null; rest: string } {
  if (!query.includes('target_session_attrs')) return { attributes: null, rest: query };
  const given = new URLSearchParams(query);
  const attributes = given.get('target_session_attrs');
  given.delete('target_session_attrs');
  return { attributes, rest: given.size === 0 ? '' : `?${given.toString()}` };
}

/** Returns the password in a PostgreSQL URL; empty without one. */
export function passwordOf(url: string): string {
  const [single = ''] = splitHosts(url);
  const authority = /^\w+:\/\/([^/?#]*)/.exec(single)?.[1] ?? '';
  const credentials = authority.slice(0, Math.max(0, authority.lastIndexOf('@')));
  const [, ...password] = credentials.split(':');
  return decodeURIComponent(password.join(':'));
}

/** Returns the host and port of a URL of `splitHosts` for a sentence, without a password. */
export function hostOf(url: string): string {
  const authority = /^\w+:\/\/([^/?#]*)/.exec(url)?.[1] ?? '';
  return authority.slice(authority.lastIndexOf('@') + 1) || 'the socket';
}
