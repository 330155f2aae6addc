import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';

/** A request as it came. */
export type Seen = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { body: string };
/** Credentials, and the scope that a service accepts. */
export type Scope = {
  service: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
};

type Signing = {
  sign(request: object, options: object): Promise<{ headers: Record<string, string> }>;
};
const require = createRequire(import.meta.url);
/** The signer of AWS's own SDK, which Sluice does not use for catalogs. */
const { SignatureV4 } = require('@smithy/signature-v4') as {
  SignatureV4: new (options: object) => Signing;
};
const { Sha256 } = require('@aws-crypto/sha256-js') as {
  Sha256: new () => { update(text: string): void; digest(): Promise<Uint8Array> };
};

/** Returns the header `authorization` that AWS's signer writes for a request. */
export async function awsSignature(
  { method, url, headers, body }: Seen,
  scope: Scope,
): Promise<string> {
  const names = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? [];
  const hash = new Sha256();
  hash.update(body);
  const body_hash = Buffer.from(await hash.digest()).toString('hex');
  const own = names.map((name) => [name, headers[name]]);
  const { pathname, searchParams } = new URL(url!, 'http://127.0.0.1');
  const request = {
    method,
    protocol: 'http:',
    hostname: '127.0.0.1',
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: { ...Object.fromEntries(own), 'x-amz-content-sha256': body_hash },
    body,
  };
  const at = String(headers['x-amz-date']);
  const date = at.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5');
  const signer = new SignatureV4({ ...scope, sha256: Sha256, applyChecksum: false });
  const signed = await signer.sign(request, { signingDate: new Date(date) });
  return signed.headers['authorization']!;
}
