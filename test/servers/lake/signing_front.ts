import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenLocally } from '../loopback.ts';
import { awsSignature } from './aws_signature.ts';
import type { Scope, Seen } from './aws_signature.ts';

/** Our own catalog behind a front: its address, a project and a key to it. */
type Behind = { uri: string; project: string; key: string };

/** A front of a catalog: its address, and the signed requests that it let in. */
export type SigningFront = { uri: string; let_in: string[]; close(): Promise<void> };

const wrong =
  'The request signature we calculated does not match the signature you provided. Check your ' +
  'AWS Secret Access Key and signing method. Consult the service documentation for details.\n\n' +
  "The Canonical String for this request should have been\n'GET\n...x-amz-security-token:...'";

/**
 * Starts a front that answers like a service of AWS: it refuses each request that AWS's own signer
 * would sign otherwise. It shows the project as the warehouse, whose ARN is the prefix of paths.
 */
export async function startSigningFront(
  { uri, project, key }: Behind,
  warehouse: string,
  scope: Scope,
): Promise<SigningFront> {
  const let_in: string[] = [];
  const arn = encodeURIComponent(warehouse);
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const seen: Seen = { ...partsOf(request), body: await text(request) };
    const message = await refusalOf(seen, scope);
    if (message !== undefined)
      return response
        .writeHead(403, { 'content-type': 'application/json' })
        .end(JSON.stringify({ message }));
    let_in.push(`${seen.method} ${seen.url}`);
    const path = seen.url!.replace(arn, project).replace(arn.toLowerCase(), project);
    const type = seen.headers['content-type'];
    const known = seen.headers['idempotency-key'] as string | undefined;
    const behind = await fetch(`${uri}${path}`, {
      method: seen.method!,
      headers: {
        authorization: `Bearer ${key}`,
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(known === undefined ? {} : { 'idempotency-key': known }),
      },
      ...(seen.body === '' ? {} : { body: seen.body }),
    });
    const said = await behind.text();
    const shown = path.startsWith('/v1/config')
      ? said.replace(`"prefix":"${project}"`, `"prefix":"${arn}"`)
      : said;
    return response.writeHead(behind.status, { 'content-type': 'application/json' }).end(shown);
  };
  const server = await listenLocally(
    createServer((request, response) => void answer(request, response)),
  );
  return { uri: `http://127.0.0.1:${server.port}`, let_in, close: server.close };
}

function partsOf({ method, url, headers }: IncomingMessage) {
  return { method, url, headers };
}

/** Returns what AWS says about a request with a wrong signature; undefined for a right one. */
async function refusalOf(seen: Seen, scope: Scope): Promise<string | undefined> {
  const given = seen.headers.authorization ?? '';
  const [, key, , region, service] =
    /Credential=([^/]+)\/(\d+)\/([^/]+)\/([^/]+)\//.exec(given) ?? [];
  if (key === undefined) return 'Missing Authentication Token';
  if (key !== scope.credentials.accessKeyId)
    return 'The security token included in the request is invalid.';
  if (region !== scope.region) return 'Credential should be scoped to a valid region. ';
  if (service !== scope.service)
    return `Credential should be scoped to correct service: '${scope.service}'. `;
  // PyIceberg writes a blank less between the parts.
  const same = (one: string) => one.replaceAll(', ', ',');
  return same(given) === same(await awsSignature(seen, scope)) ? undefined : wrong;
}
