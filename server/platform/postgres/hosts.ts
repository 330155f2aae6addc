/** Names of libpq for the server that accepts writes; its other names do not apply here. */
const wanted = new Set(['read-write', 'primary']);

/**
 * One URL for each server that a PostgreSQL URL names, in its order:
 * `postgres://user@a:5432,b/base?target_session_attrs=read-write` are two. Throws a sentence where
 * it is not such a URL, or asks for a server that does not take writes.
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
    // A socket's folder stands behind the question mark, and the host is empty then.
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

/** The password in a PostgreSQL URL; empty without one. */
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
