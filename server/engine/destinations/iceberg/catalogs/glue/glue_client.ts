import { openClient } from '../../../object_store/s3_client.ts';
import { placeOf } from '../../../object_store/aws_role.ts';
import type { S3Place } from '../../../object_store/s3_place.ts';
import { amzDate, authorizationOf, sha256 } from '../../../object_store/sign_v4.ts';
import type { Storage } from '../../world.ts';
import { send } from '../request.ts';
import type { Answer } from '../request.ts';

/** Sends an action to Glue, once, signed by the bucket's credentials. */
export type GlueClient = (action: string, fields: unknown) => Promise<Answer>;

/** Opens the client of Glue in the region of the bucket, or at a configured URL. */
export function openGlueClient(
  place: S3Place & { catalog_uri?: string | null },
  { clock, deps }: Pick<Storage, 'clock' | 'deps'>,
): GlueClient {
  const { region, catalog_uri: uri } = place;
  const address = (uri ?? '') === '' ? `https://glue.${region}.amazonaws.com` : uri!;
  const url = new URL(`${address.replace(/\/+$/, '')}/`);
  // The S3 client finds the credentials in each of the three ways: given, of a role, of the server.
  const { credentials } = openClient(placeOf(place, deps), deps.outbound).config;
  return async (action, fields) => {
    const body = JSON.stringify(fields);
    const { sessionToken, ...keys } = await credentials();
    const headers = {
      'x-amz-date': amzDate(new Date(clock.now())),
      'x-amz-target': `AWSGlue.${action}`,
      ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
    };
    const signed = { ...headers, host: url.host };
    const parts = { method: 'POST', path: url.pathname, query: '', headers: signed };
    const authorization = authorizationOf({ ...parts, body_hash: sha256(body) }, keys, {
      region,
      service: 'glue',
    });
    const type = 'application/x-amz-json-1.1';
    return send({ method: 'POST', url, headers: { ...headers, authorization }, body, type }, deps);
  };
}
