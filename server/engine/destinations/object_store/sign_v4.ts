import { createHash, createHmac } from 'node:crypto';

const algorithm = 'AWS4-HMAC-SHA256';

/**
 * The parts of a request that its signature covers. `path` and `query` are encoded as AWS requires.
 */
type SignedParts = {
  method: string;
  path: string;
  query: string;
  /** By names in lower case; includes `x-amz-date` and `host`. */
  headers: Record<string, string>;
  body_hash: string;
};

type AwsKeys = { accessKeyId: string; secretAccessKey: string };

/** A request to a service of AWS other than S3; names of headers are in lower case. */
type Request = { method: string; url: URL; headers: Record<string, string>; body?: string };

/** Returns the query and the headers of a request with its signature. */
export function signed(
  { method, url, headers, body = '' }: Request,
  { sessionToken, ...keys }: AwsKeys & { sessionToken?: string | undefined },
  scope: { region: string; service: string },
  at: Date,
): { query: string; headers: Record<string, string> } {
  const body_hash = sha256(body);
  const sent = {
    ...headers,
    'x-amz-content-sha256': body_hash,
    'x-amz-date': amzDate(at),
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  };
  // Services other than S3 encode the encoded path once more.
  const path = url.pathname.split('/').map(uriEncoded).join('/');
  const query = canonicalQuery(url);
  const parts = { method, path, query, headers: { ...sent, host: url.host }, body_hash };
  return { query, headers: { ...sent, authorization: authorizationOf(parts, keys, scope) } };
}

/** Percent-encodes everything except unreserved characters (RFC 3986), as AWS requires. */
export function uriEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Returns the query of a URL in the form that AWS signs. */
export function canonicalQuery({ searchParams }: URL): string {
  // A blank sorts before every character of a name, and encoded texts have none.
  return [...searchParams]
    .map(([name, value]) => `${uriEncoded(name)} ${uriEncoded(value)}`)
    .toSorted()
    .map((pair) => pair.replace(' ', '='))
    .join('&');
}

/** Signs a request to AWS (SigV4), and returns the header `authorization`. */
export function authorizationOf(
  { method, path, query, headers, body_hash }: SignedParts,
  { accessKeyId, secretAccessKey }: AwsKeys,
  { region, service }: { region: string; service: string },
): string {
  const names = Object.keys(headers).toSorted();
  const signed = names.join(';');
  const lines = names.map((name) => `${name}:${headers[name]}`);
  const canonical = [method, path, query, ...lines, '', signed, body_hash].join('\n');
  const at = headers['x-amz-date']!;
  const scope = [at.slice(0, 8), region, service, 'aws4_request'];
  const text = [algorithm, at, scope.join('/'), sha256(canonical)].join('\n');
  const secret: string | Buffer = `AWS4${secretAccessKey}`;
  const key = scope.reduce<string | Buffer>((by, part) => hmac(by, part), secret);
  return (
    `${algorithm} Credential=${accessKeyId}/${scope.join('/')}, ` +
    `SignedHeaders=${signed}, Signature=${hmac(key, text).toString('hex')}`
  );
}

/** Formats an instant in AWS's notation. */
export const amzDate = (at: Date) => at.toISOString().replaceAll(/[:-]|\.\d{3}/g, '');

/** Hashes a text in AWS's notation: SHA-256 in hexadecimal digits. */
export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (by: string | Buffer, text: string) => createHmac('sha256', by).update(text).digest();
