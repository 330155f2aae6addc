import { createHash, createHmac } from 'node:crypto';
import { openClient } from '../../../object_store/s3_client.ts';
import { placeOf } from '../../../object_store/aws_role.ts';
import type { S3Place } from '../../../object_store/s3_place.ts';
import type { Storage } from '../../world.ts';
import { send } from '../request.ts';
import type { Answer } from '../request.ts';

/** Asks Glue for an action, once, signed by the keys of the bucket. */
export type GlueClient = (action: string, fields: unknown) => Promise<Answer>;

type Keys = { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined };

/** Opens the client of Glue in the region of the bucket, or at an address of its own. */
export function openGlueClient(
  place: S3Place & { catalog_uri?: string | null },
  { clock, deps }: Pick<Storage, 'clock' | 'deps'>,
): GlueClient {
  const { region, catalog_uri: uri } = place;
  const address = (uri ?? '') === '' ? `https://glue.${region}.amazonaws.com` : uri!;
  const url = new URL(`${address.replace(/\/+$/, '')}/`);
  // The client of S3 finds the keys in each of the three ways: given, of a role, of the server.
  const { credentials } = openClient(placeOf(place, deps), deps.outbound).config;
  return async (action, fields) => {
    const body = JSON.stringify(fields);
    const headers = {
      host: url.host,
      'x-amz-date': new Date(clock.now()).toISOString().replaceAll(/[:-]|\.\d{3}/g, ''),
      'x-amz-target': `AWSGlue.${action}`,
    };
    const { host: _host, ...signed } = signedHeaders(
      await credentials(),
      region,
      url,
      headers,
      body,
    );
    return send(
      { method: 'POST', url, headers: signed, body, type: 'application/x-amz-json-1.1' },
      deps,
    );
  };
}

/** Returns the headers with the signature of AWS (SigV4). */
function signedHeaders(
  { accessKeyId, secretAccessKey, sessionToken }: Keys,
  region: string,
  url: URL,
  headers: Record<string, string>,
  body: string,
): Record<string, string> {
  const own: Record<string, string> = {
    ...headers,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  };
  const names = Object.keys(own).toSorted();
  const canonical = [
    'POST',
    url.pathname,
    '',
    ...names.map((name) => `${name}:${own[name]}`),
    '',
    names.join(';'),
    sha256(body),
  ].join('\n');
  const at = own['x-amz-date']!;
  const scope = `${at.slice(0, 8)}/${region}/glue/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', at, scope, sha256(canonical)].join('\n');
  const key = scope
    .split('/')
    .reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secretAccessKey}`);
  const signature = hmac(key, text).toString('hex');
  return {
    ...own,
    authorization:
      `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, ` +
      `SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) =>
  createHmac('sha256', key).update(text).digest();
