import type { S3Place } from '../../../object_store/s3_place.ts';
import type { Storage } from '../../world.ts';
import { openSigner } from '../aws_signer.ts';
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
  const sign = openSigner(place, 'glue', { ...deps, clock });
  return async (action, fields) => {
    const body = JSON.stringify(fields);
    const headers = { 'x-amz-target': `AWSGlue.${action}` };
    const type = 'application/x-amz-json-1.1';
    return send(await sign({ method: 'POST', url, headers, body, type }), deps);
  };
}
