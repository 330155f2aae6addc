import type { DestinationDeps } from '../../../model/destination/destination.ts';
import { placeOf } from '../../object_store/aws_role.ts';
import { openClient } from '../../object_store/s3_client.ts';
import type { S3Place } from '../../object_store/s3_place.ts';
import { signed } from '../../object_store/sign_v4.ts';
import type { Sendable } from './request.ts';

/** Signs a request, with new credentials if `renewed`. */
export type Signer = (asked: Sendable, renewed?: boolean) => Promise<Sendable>;

/** Opens the signer of a service of AWS: by the credentials of a bucket, in its region. */
export function openSigner(
  place: S3Place,
  service: string,
  deps: Pick<DestinationDeps, 'clock' | 'outbound' | 'aws_roles'>,
): Signer {
  const { clock } = deps;
  if (clock === undefined) throw new Error('A signature needs a clock.');
  // The S3 client finds the credentials in each of the three ways: given, of a role, of the server.
  const { credentials } = openClient(placeOf(place, deps), deps.outbound).config;
  return async ({ type, ...asked }, forceRefresh = false) => {
    const headers = { ...asked.headers, ...(type === undefined ? {} : { 'content-type': type }) };
    const keys = await credentials({ forceRefresh });
    const scope = { region: place.region, service };
    const { query, headers: sent } = signed(
      { ...asked, headers },
      keys,
      scope,
      new Date(clock.now()),
    );
    const url = new URL(asked.url);
    url.search = query;
    return { ...asked, url, headers: sent };
  };
}
